"""Clients that are not ours follow a run, are cut off in the midst, and go on where they were."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from httpx_sse import connect_sse

from orchestrator.events.project import project
from orchestrator.journal.sqlite import SqliteJournal
from tests.scenario import ANSWER, GOAL
from tests.serving.process import TOKEN, Server, journal_in, served

pytestmark = [pytest.mark.real_clock, pytest.mark.timeout(180)]

FIRST_WORDS = "The south "
"""What is told of the answer until the door opens."""


class Told(NamedTuple):
    """One message. `last` is the id of the last message that had one, which a client goes on by."""

    channel: str
    data: Any
    last: str


Client = Callable[[Server, str, str], AbstractContextManager[Iterator[Told]]]
"""Gets a path, saying the Last-Event-ID if there is one. Leaving the block is being cut off."""


@contextmanager
def curl(server: Server, path: str, last: str) -> Iterator[Iterator[Told]]:
    going_on = ["-H", f"Last-Event-ID: {last}"] if last else []
    command = ["curl", "-N", "-s", "--noproxy", "*", "-H", f"Authorization: Bearer {TOKEN}", *going_on, server.url + path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield messages(process.stdout, last)
        finally:
            process.kill()


def messages(lines: Iterable[str], last: str) -> Iterator[Told]:
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.rstrip("\n").partition(": ")
        if name:
            fields[name] = value
            continue
        if "data" in fields:
            last = fields.get("id", last)
            yield Told(fields["event"], json.loads(fields["data"]), last)
        fields.clear()


@contextmanager
def httpx_sse(server: Server, path: str, last: str) -> Iterator[Iterator[Told]]:
    headers = {"last-event-id": last} if last else {}
    with server.client() as client, connect_sse(client, "GET", path, headers=headers) as source:
        events = (event for event in source.iter_sse() if event.data)  # it hands over blocks that only say `retry`, too
        yield (Told(event.event, event.json(), event.id or last) for event in events)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stage")
    (folder / "outside").mkdir()
    (folder / "laps").touch()
    return folder


@pytest.fixture(scope="module")
def server(stage: Path) -> Iterator[Server]:
    tools, environ = "tests.serving.tools:TOOLS", {"STAGE": str(stage)}
    with served(stage, "--tools", tools, program="tests.serving.stage", environ=environ) as server:
        yield server


def upto(told: Iterator[Told], there: Callable[[list[Told]], bool]) -> list[Told]:
    """All messages until what has come is enough; or else all there are."""
    came: list[Told] = []
    for each in told:
        came.append(each)
        if there(came):
            break
    return came


def text_of(told: Iterable[Told]) -> str:
    """The answer as it has come, after all that was told."""
    text = ""
    for each in told:
        if each.channel == "answer":
            text = "" if each.data["status"] in ("start", "reset") else text + each.data.get("content", "")
    return text


def ids_of(stage: Path, run: str) -> list[str]:
    """Of all messages of the run's Facts, by the journal."""

    async def read() -> list[str]:
        async with SqliteJournal.open(journal_in(stage), now=lambda: datetime.now(UTC), synchronous="normal") as journal:
            return [message.id or "" for fact in await journal.read(run) for message in project(fact).messages]

    return anyio.run(read)


@pytest.mark.parametrize(
    "client",
    [
        pytest.param(curl, id="curl", marks=pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")),
        pytest.param(httpx_sse, id="httpx-sse"),
    ],
)
def test_cut_off_and_going_on(client: Client, server: Server, stage: Path) -> None:
    """Cut off after a few Facts, and again within the answer: no Fact is missed or comes twice, and the text is whole."""
    door = stage / "answer"
    door.unlink(missing_ok=True)
    with server.client() as asking:
        run = asking.post("/v1/runs", json={"goal": GOAL}).json()["id"]
    path = f"/v1/runs/{run}/events"

    with client(server, path, "") as told:
        first = upto(told, lambda came: len({each.last for each in came}) == 5)
    with client(server, path, first[-1].last) as told:
        second = upto(told, lambda came: text_of(came) == FIRST_WORDS)
    with client(server, path, second[-1].last) as told:
        third = upto(told, lambda came: text_of(came) == FIRST_WORDS)
        door.touch()
        rest = [*third, *told]

    assert ids_of(stage, run) == list(dict.fromkeys(each.last for each in (*first, *second, *rest) if each.last))
    assert [("reset", None), ("delta", FIRST_WORDS)] == [(each.data["status"], each.data.get("content")) for each in third]
    assert ANSWER == text_of([*first, *second, *rest]) == rest[-1].data["answer"]
    assert ("done", True) == (rest[-1].channel, rest[-1].data["achieved"])
