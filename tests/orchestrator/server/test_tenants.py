"""The journal as one tenant sees it: others' runs are not there."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from orchestrator import MemoryJournal
from orchestrator.errors import UnknownRun
from orchestrator.journal.protocol import Journal
from orchestrator.server.tenants import TenantJournal, prefix_of
from tests.contracts.journal import line, took

pytestmark = pytest.mark.anyio

NAMES = ("acme.one", "acme-2.one", "acme.two", "ac.one", "one")


async def journal_of(*runs: str) -> MemoryJournal:
    journal = MemoryJournal()
    for run in runs:
        writer = await journal.claim(run, holder="me", ttl=60)
        await writer.append(line(run))
        await writer.release()
    return journal


@pytest.mark.parametrize("tenant", ["", "a.b", "a b", "a/b", "ä", "a" * 65, "acme\n"])
def test_what_is_no_name(tenant: str) -> None:
    """A name that could be mistaken for another's prefix is none."""
    with pytest.raises(ValueError, match="no name of a tenant"):
        prefix_of(tenant)


@pytest.mark.parametrize("run", ["acme-2.one", "ac.one", "one", "acme", "", "acme.none"])
@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(lambda journal, run: journal.read(run), id="read"),
        pytest.param(lambda journal, run: journal.outline(run), id="outline"),
        pytest.param(lambda journal, run: journal.forget(run), id="forget"),
        pytest.param(lambda journal, run: journal.outlines("", most=9, before=run or "x"), id="before"),
    ],
)
async def test_what_is_not_the_tenants_is_unknown(asked: Callable[[Journal, str], Awaitable[Any]], run: str) -> None:
    """Exactly as what is nobody's, and the error names no run of others."""
    tenant = TenantJournal(await journal_of(*NAMES), "acme")

    with pytest.raises(UnknownRun) as unknown:
        await asked(tenant, run)
    assert "there are: none" in str(unknown.value)


@pytest.mark.parametrize("run", ["acme-2.one", "ac.one", "one"])
async def test_nothing_is_written_to_others(run: str) -> None:
    """Not even a claim is made."""
    journal = await journal_of(*NAMES)

    with pytest.raises(UnknownRun):
        await TenantJournal(journal, "acme").claim(run, holder="another", ttl=60)
    assert not (await journal.outline(run)).holder


@pytest.mark.parametrize("prefix", ["", "ac", "acme", "acme.", "acme.o", "acme-", "b", "one"])
async def test_lists_hold_no_others(prefix: str) -> None:
    """Whatever is asked for."""
    tenant = TenantJournal(await journal_of(*NAMES), "acme")

    own = [name for name in ("acme.two", "acme.one") if name.startswith(prefix)]
    assert own == [outline.run for outline in await tenant.outlines(prefix, most=9)]
    assert ["acme.one", "acme.two"] == [listed.run for listed in await tenant.runs()]


@pytest.mark.parametrize(("prefix", "own"), [("", True), ("acme.t", True), ("acme.o", False), ("b", False), ("other", False)])
async def test_how_long_steps_took_is_each_tenants_own(prefix: str, own: bool) -> None:
    """What those of others took is not told, not even for the same step."""
    journal = MemoryJournal()
    for run, seconds in (("acme.two", 1.0), ("other.one", 2.0)):
        await (await journal.claim(run, holder="me", ttl=60)).append((took(seconds), 1.0))

    assert ({"step/1": (1.0,)} if own else {}) == await TenantJournal(journal, "acme").durations(["step/1"], prefix=prefix)


async def test_the_tenants_own_are_there() -> None:
    """Read, written, glanced at and forgotten like those of any journal."""
    tenant = TenantJournal(await journal_of(*NAMES), "acme")
    writer = await tenant.claim("acme.one", holder="me", ttl=60)
    await writer.append(line("more"))
    await writer.release()

    assert 2 == len(await tenant.read("acme.one"))
    assert 1 == len(await tenant.read("acme.one", after=1))
    assert 2 == (await tenant.outline("acme.one")).facts
    assert ["acme.one"] == [outline.run for outline in await tenant.outlines("", most=9, before="acme.two")]
    await tenant.forget("acme.one")
    with pytest.raises(UnknownRun):
        await tenant.read("acme.one")
