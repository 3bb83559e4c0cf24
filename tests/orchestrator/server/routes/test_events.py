"""The event stream of a run, as clients ask for it."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio
import pytest
from msgspec.structs import replace

from orchestrator import MemoryJournal
from orchestrator.events.project import project
from orchestrator.events.recorded import Recorded
from orchestrator.journal.protocol import Outline
from registry.calls import Call
from registry.messages import Piece, Reply, Request
from registry.models.layer import ModelLayer
from tests.orchestrator.server.driving import Held, ordinary, served, service_of
from tests.orchestrator.server.routes.test_runs import slug
from tests.orchestrator.server.test_feeds import shown

pytestmark = pytest.mark.anyio


def ids_of(facts: tuple[Recorded, ...]) -> list[str | None]:
    return [message.id for recorded in facts for message in project(recorded).messages]


async def test_a_run_is_followed_to_its_end() -> None:
    """Every Fact as `project` tells it, in order, and the answer as it is written."""
    journal = MemoryJournal()
    model = Held(ordinary(), "plan")
    async with served(service_of(model, journal=journal)) as caller:
        run = (await caller.post("/v1/runs", {"goal": "g"})).json["id"]
        async with caller.open(f"/v1/runs/{run}/events") as stream:
            model.open.set()
            await stream.until(lambda: stream.answer.whole)
        facts = await journal.read(run)

    assert ids_of(facts) == [event.id for event in stream.events if event.id]
    assert [(message.channel, message.payload) for recorded in facts for message in project(recorded).messages] == [
        (event.channel, event.data) for event in stream.events if event.id
    ]
    assert "The harbours differ in their ice." == shown(stream.answer.body)
    statuses = [event.data["status"] for event in stream.events if event.channel == "answer"]
    assert ["start", *["delta"] * 6, "done"] == statuses


async def test_cut_after_every_fact() -> None:
    """What a client had and what it gets when it comes back is the whole, wherever it was cut off."""
    async with served() as caller:
        run = (await caller.post("/v1/runs", {"goal": "g"})).json["id"]
        whole = [event.id for event in await caller.followed(run) if event.id]
        for cut, last in enumerate(whole[:-1], 1):
            again = await caller.followed(run, last_event_id=last)
            assert whole[cut:] == [event.id for event in again if event.id]


async def test_who_has_everything_is_told_to_stay_away() -> None:
    """A browser's EventSource comes back until it gets a 204."""
    async with served() as caller:
        run = (await caller.post("/v1/runs", {"goal": "g"})).json["id"]
        events = await caller.followed(run)
        answer = await caller.get(f"/v1/runs/{run}/events", last_event_id=events[-1].id)

    assert (204, b"") == (answer.status, answer.body)


@pytest.mark.parametrize("last", ["x", "5", "0.0", "1.2", "-1.0", "999.0", "1.0 "])
async def test_an_id_that_is_none(last: str) -> None:
    """Is refused, with what there is: to begin anew would repeat everything, and to wait would lose it."""
    async with served() as caller:
        run = (await caller.post("/v1/runs", {"goal": "g"})).json["id"]
        await caller.followed(run)
        answer = await caller.get(f"/v1/runs/{run}/events", last_event_id=last)

    assert (400, "bad-event-id") == slug(answer)
    assert "it has events 1 to 18" in answer.json["detail"]


class Paused(ModelLayer):
    """A model whose answer stops after its first word until it is let go."""

    def __init__(self) -> None:
        super().__init__(ordinary())
        self.open = anyio.Event()

    async def chat(self, request: Request, call: Call) -> Reply:
        return await self._inner.chat(request, call)

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        async with aclosing(self._inner.stream_chat(request, call)) as pieces:
            yield await anext(pieces)
            await self.open.wait()
            async for piece in pieces:
                yield piece


async def test_in_the_midst_of_the_answer() -> None:
    """Whoever comes back is told to begin anew, gets the text so far, and the rest as it comes."""
    model = Paused()
    async with served(service_of(model)) as caller:
        run = (await caller.post("/v1/runs", {"goal": "g"})).json["id"]
        async with caller.open(f"/v1/runs/{run}/events") as first:
            await first.until(lambda: first.events[-1:] != [] and first.events[-1].data.get("status") == "delta")
            last = [event.id for event in first.events if event.id][-1]
            had = shown(first.answer.body)
        async with caller.open(f"/v1/runs/{run}/events", last_event_id=last) as second:
            await second.until(lambda: len(second.events) >= 2)
            began = [event.data["status"] for event in second.events]
            model.open.set()
            await second.until(lambda: second.answer.whole)

    assert "The " == had
    assert ["reset", "delta"] == began
    assert "The harbours differ in their ice." == shown(second.answer.body, before=had)


async def test_a_suspended_run_keeps_its_watchers() -> None:
    """They wait for the answer too, and see the run go on."""
    plan = {"goal": "g", "steps": [{"id": "ask", "kind": "approval", "question": "May I?"}]}
    async with served() as caller:
        run = (await caller.post("/v1/runs", {"plan": plan})).json["id"]
        async with caller.open(f"/v1/runs/{run}/events") as stream:
            await stream.until(lambda: any(event.data.get("phase") == "suspended" for event in stream.events))
            (waiting,) = next(event.data["waiting"] for event in stream.events if event.data.get("phase") == "suspended")
            await caller.post(f"/v1/runs/{run}/approve", {"waiting": waiting["id"]})
            await stream.until(lambda: stream.answer.whole)
        whole = await caller.followed(run)

    assert [event.id for event in whole if event.id] == [event.id for event in stream.events if event.id]
    assert "done" == stream.events[-1].channel


async def test_a_run_that_was_not_begun_or_can_not_be_read() -> None:
    """Has nothing to be told."""

    class Damaged(MemoryJournal):
        async def outline(self, run: str) -> Outline:
            return replace(await super().outline(run), damage="torn" if run == "acme.torn" else "")

    journal = Damaged()
    for run in ("acme.torn", "acme.empty"):
        await journal.claim(run, holder="another", ttl=60)
    async with served(service_of(journal=journal)) as caller:
        assert (500, "damaged") == slug(await caller.get("/v1/runs/acme.torn/events"))
        assert (404, "unknown-run") == slug(await caller.get("/v1/runs/acme.empty/events"))


async def test_a_draining_server_begins_no_stream() -> None:
    """The client comes back to the next one."""
    service = service_of()
    async with served(service) as caller:
        run = (await caller.post("/v1/runs", {"goal": "g"})).json["id"]
        await service.drain()
        answer = await caller.get(f"/v1/runs/{run}/events")

    assert (503, "draining") == slug(answer)
