"""Every journal keeps the contract."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import RunError
from orchestrator.journal.memory import MemoryJournal
from orchestrator.journal.protocol import WHOLE_RUN, WORD, Writer
from tests.backends import backend
from tests.contracts.journal import TTL, JournalContract, Journals, Opened, ended, fact, replied, took
from tests.orchestrator.journal.opening import Clock, in_file

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def in_memory(folder: Path) -> AsyncIterator[Opened]:
    yield Opened(journal=MemoryJournal(), later=anyio.sleep)


@asynccontextmanager
async def in_sqlite(folder: Path) -> AsyncIterator[Opened]:
    clock = Clock()
    async with in_file(folder / "journal.db", clock) as journal:
        yield Opened(journal=journal, later=clock.later)


@asynccontextmanager
async def in_sqlite_beside_the_loop(folder: Path) -> AsyncIterator[Opened]:
    clock = Clock()
    async with in_file(folder / "journal.db", clock, blocking=None) as journal:
        yield Opened(journal=journal, later=clock.later)


class TestJournals(JournalContract):
    @pytest.fixture(
        params=[
            pytest.param(in_memory, id="memory"),
            pytest.param(in_sqlite, id="sqlite"),
            pytest.param(in_sqlite_beside_the_loop, id="sqlite in a thread", marks=pytest.mark.real_clock),
        ]
    )
    def journals(self, request: pytest.FixtureRequest, tmp_path: Path) -> Journals:
        open_in: Callable[[Path], Journals] = request.param
        return open_in(tmp_path)


RUNS = ("r", "s")
SCOPES = (WHOLE_RUN, WORD)

TOOK = took(1.0)

operations = st.one_of(
    st.tuples(st.just("claim"), st.sampled_from(RUNS), st.sampled_from(SCOPES), st.sampled_from(("me", "you"))),
    st.tuples(st.sampled_from(("renew", "release")), st.integers(0, 5)),
    st.tuples(
        st.just("append"), st.integers(0, 5), st.lists(st.sampled_from((fact("a"), *map(replied, "bc"), ended("d"), TOOK)))
    ),
    st.tuples(st.sampled_from(("read", "forget")), st.sampled_from(RUNS)),
    st.sampled_from([("runs",), ("later",), ("durations", [TOOK.like])]),
)


async def came_of(opened: Opened, story: list[tuple[Any, ...]]) -> list[object]:
    """What a journal answers when so many claim, write, let go and forget. Writers go by the order of their claims."""
    journal, writers, said = opened.journal, list[Writer](), list[object]()
    for operation in story:
        try:
            match operation:
                case ["claim", run, scope, holder]:
                    writers.append(await journal.claim(run, holder=holder, ttl=TTL, scope=scope))
                    said.append(writers[-1].epoch)
                case ["append", which, facts] if which < len(writers):
                    said.append(await writers[which].append(*((fact, 1.0) for fact in facts)))
                case ["renew" | "release" as name, which] if which < len(writers):
                    said.append(await getattr(writers[which], name)())
                case ["read" | "forget" | "runs" | "durations" as name, *run]:
                    said.append(await getattr(journal, name)(*run))
                case ["later"]:
                    await opened.later(TTL * 1.5)
        except RunError as error:
            said.append(str(error))
    return said


@given(st.lists(operations, max_size=25))
def test_journals_agree(story: list[tuple[Any, ...]]) -> None:
    """Whatever happens to them, they answer alike."""

    async def both(folder: Path) -> list[list[object]]:
        async with in_memory(folder) as one, in_sqlite(folder) as other:
            return [await came_of(opened, story) for opened in (one, other)]

    name, options = backend("asyncio", virtual=True)
    with TemporaryDirectory() as folder:
        memory, sqlite = anyio.run(both, Path(folder), backend=name, backend_options=options)
    assert memory == sqlite
