"""The life of a service: what goes on without anybody, what an end leaves, and what the next start takes up."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import anyio
import pytest

from orchestrator import MemoryJournal, Orchestrator, Ports
from orchestrator.events.facts import ModelReplied, RunEnded, RunInterrupted, RunStarted, ToolStarted
from orchestrator.limits import Limits
from orchestrator.server.app import create_app
from orchestrator.server.asking import Setup
from orchestrator.server.service import SWEEP
from registry.messages import Request
from registry.testing import Line, asks
from registry.tools.function import tool
from tests.orchestrator.journal.opening import in_file
from tests.orchestrator.parts import played
from tests.orchestrator.server.driving import Caller, Held, ended, in_state, ordinary, served, service_of

pytestmark = pytest.mark.anyio

SUM = {
    "goal": "add",
    "steps": [{"id": "ask", "kind": "approval", "question": "May I?"}, {"id": "say", "task": "say it", "needs": "ask"}],
}


def named(holder: str) -> Ports:
    numbers = count(1)
    return Ports(holder=lambda: f"{holder} {next(numbers)}")


async def begun(caller: Caller, **wanted: object) -> str:
    answer = await caller.post("/v1/runs", wanted or {"goal": "Compare the harbours"})
    assert answer.status == 201, answer.body
    return str(answer.json["id"])


async def test_a_run_needs_nobody() -> None:
    """It comes to its end though no client asks for it meanwhile."""
    async with served() as caller:
        run = await begun(caller)
        await anyio.sleep(10)

        assert "achieved" == (await caller.get(f"/v1/runs/{run}")).json["state"]


async def test_a_run_is_durable_before_it_is_told() -> None:
    """When the answer to the request is there, so is the run's beginning in the journal, with how it was begun."""
    journal = MemoryJournal()
    model = Held(ordinary(), "plan")
    async with served(service_of(model, journal=journal)) as caller:
        run = await begun(caller, goal="Compare", limits={"rounds": 1})
        first = (await journal.read(run))[0].event

    assert isinstance(first, RunStarted)
    setup = Setup.read(first.setup)
    assert setup is not None
    assert (1, 1, False) == (setup.limits.rounds, setup.limits.submitted_rounds, setup.attached)


async def test_only_so_many_runs_at_once() -> None:
    """The others wait their turn, durable and cancellable."""
    model = Held(ordinary(), "plan")
    async with served(service_of(model, width=2)) as caller:
        runs = [await begun(caller) for _ in range(4)]
        await model.until_asked(2)
        states = [(await caller.get(f"/v1/runs/{run}")).json["state"] for run in runs]
        await caller.post(f"/v1/runs/{runs[2]}/cancel")
        cancelled = (await caller.get(f"/v1/runs/{runs[2]}")).json["state"]
        model.open.set()
        ends = [(await ended(caller, run))["state"] for run in runs]

    assert ["running", "running", "queued", "queued"] == states
    assert "cancelled" == cancelled
    assert ["achieved", "achieved", "cancelled", "achieved"] == ends
    assert 3 == model.asked


async def test_drained_to_a_durable_point() -> None:
    """Runs are interrupted and say so, streams end, and nothing new begins."""
    model, journal = Held(ordinary()), MemoryJournal()
    service = service_of(model, journal=journal)
    async with served(service) as caller:
        run = await begun(caller)
        await model.until_asked(2)
        async with caller.open(f"/v1/runs/{run}/events") as stream:
            await stream.until(lambda: bool(stream.events))
            await service.drain()
            await stream.until(lambda: stream.answer.whole)
        refused = await caller.post("/v1/runs", {"goal": "another"})
        health = await caller.get("/health")

    assert isinstance((await journal.read(run))[-1].event, RunInterrupted)
    assert ("phase", "interrupted") == (stream.events[-1].channel, stream.events[-1].data["phase"])
    assert (503, "urn:dagwright:draining") == (refused.status, refused.json["type"])
    assert (503, {"status": "draining"}) == (health.status, health.json)
    assert "" == (await journal.outline(run)).holder


async def test_draining_takes_no_longer_than_the_grace() -> None:
    """A tool that won't clean up does not hold up the end; the run goes on from its last Fact another time."""

    @tool(effect="pure")
    async def stubborn() -> str:
        """Takes a minute to be cancelled."""
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(60)
        return ""

    plan = {"goal": "g", "steps": [{"id": "a", "kind": "tool", "tool": "stubborn"}]}
    journal = MemoryJournal()
    service = service_of(journal=journal, tools=[stubborn])
    async with served(service) as caller:
        run = await begun(caller, plan=plan)
        await in_state(caller, run, "running")
        await anyio.sleep(1)
        before = anyio.current_time()
        await service.drain(3)
        took = anyio.current_time() - before

    assert 3 == pytest.approx(took, abs=0.5)


@asynccontextmanager
async def lives(path: Path, model: Held, **given: object) -> AsyncGenerator[Caller, None]:
    """A service of its own on the file."""
    async with in_file(path) as journal, served(service_of(model, journal=journal, **given)) as caller:  # type: ignore[arg-type]
        yield caller


async def test_the_next_start_goes_on(tmp_path: Path) -> None:
    """Three runs are under way when the server ends; the next one ends them, and asks no model twice for what it said."""
    path = tmp_path / "j.sqlite3"
    first, second = Held(ordinary(), "synthesis"), Held(ordinary(), "never")
    async with lives(path, first) as caller:
        runs = [await begun(caller) for _ in range(3)]
        await first.until_asked(3)
    async with lives(path, second) as caller:
        reports = [await ended(caller, run) for run in runs]
        async with in_file(path) as journal:
            facts = [[recorded.event for recorded in await journal.read(run)] for run in runs]

    assert ["achieved"] * 3 == [report["state"] for report in reports]
    for told in facts:
        keys = [event.key for event in told if isinstance(event, ModelReplied)]
        assert len(keys) == len(set(keys)) == 5
        assert 1 == sum(isinstance(event, RunInterrupted) for event in told)


async def test_streams_go_on_across_a_restart(tmp_path: Path) -> None:
    """A client that was cut off with the server comes back with its last id: no Fact is lost or doubled."""
    path = tmp_path / "j.sqlite3"
    first = Held(ordinary(), "synthesis")
    async with lives(path, first) as caller:
        run = await begun(caller)
        await first.until_asked()
        async with caller.open(f"/v1/runs/{run}/events") as stream:
            await stream.until(lambda: stream.events[-1:] != [] and stream.events[-1].data.get("phase") == "synthesis")
    before = [event.id for event in stream.events if event.id]
    async with lives(path, Held(ordinary(), "never")) as caller:
        after = [event.id for event in await caller.followed(run, last_event_id=before[-1]) if event.id]
        whole = [event.id for event in await caller.followed(run) if event.id]

    assert whole == before + after


async def test_what_waits_for_a_person_is_left_in_peace(tmp_path: Path) -> None:
    """A suspended run stays so over a restart, and an answer wakes it."""
    path = tmp_path / "j.sqlite3"
    async with lives(path, Held(ordinary(), "never")) as caller:
        run = await begun(caller, plan=SUM)
        report = await in_state(caller, run, "suspended")
    async with lives(path, Held(ordinary(), "never")) as caller:
        await anyio.sleep(3 * SWEEP)
        still = (await caller.get(f"/v1/runs/{run}")).json
        answer = await caller.post(f"/v1/runs/{run}/approve", {"waiting": report["waiting"][0]["id"]})
        end = await ended(caller, run)

    assert ("suspended", report["events"]) == (still["state"], still["events"])
    assert 200 == answer.status
    assert "achieved" == end["state"]


async def test_an_answer_given_elsewhere_wakes_a_run() -> None:
    """As from the command line, which writes to the journal and works on nothing."""
    journal = MemoryJournal()
    async with served(service_of(journal=journal)) as caller:
        run = await begun(caller, plan=SUM)
        report = await in_state(caller, run, "suspended")
        idle = service_of(journal=journal)
        async with idle:
            idle.underway.draining = True  # says what it is told, and works on nothing
            await Caller(create_app(idle)).post(f"/v1/runs/{run}/approve", {"waiting": report["waiting"][0]["id"]})

        assert "achieved" == (await ended(caller, run))["state"]


async def test_two_servers_and_one_run(tmp_path: Path) -> None:
    """One works on it, and either tells of it. When that one ends, the other goes on."""
    path = tmp_path / "j.sqlite3"
    one, other = Held(ordinary()), Held(ordinary(), "never")
    async with in_file(path) as journal, in_file(path) as same, served(service_of(other, journal=same)) as second:
        async with served(service_of(one, journal=journal)) as first:
            run = await begun(first)
            await one.until_asked(2)
            await anyio.sleep(2 * SWEEP)
            seen = (await second.get(f"/v1/runs/{run}")).json
            listed = (await second.get("/v1/runs")).json["runs"]
        events = await second.followed(run)
        facts = [recorded.event for recorded in await same.read(run)]

    assert "running" == seen["state"]
    assert [run] == [each["id"] for each in listed]
    assert 2 == one.left
    assert "done" == events[-1].channel
    assert 1 == sum(isinstance(event, RunEnded) for event in facts)


async def test_the_runs_of_other_programs_are_left_alone() -> None:
    """Whoever began them knows how to go on with them."""
    journal = MemoryJournal()
    async with Orchestrator(Held(ordinary()), journal=journal).open("goal") as run:
        await anext(run.events)
    model = Held(ordinary(), "plan")
    async with served(service_of(model, journal=journal)):
        await anyio.sleep(3 * SWEEP)

    assert 0 == model.asked
    assert [False, True] == [isinstance(each.event, RunInterrupted) for each in await journal.read(run.id)][-2:]


async def test_the_limits_it_was_begun_with(tmp_path: Path) -> None:
    """A run that goes on has the limits that it was begun with, as far as the server still gives that."""
    path, seen = tmp_path / "j.sqlite3", list[int | None]()

    def step(request: Request) -> Line:
        seen.append(request.max_tokens)
        return "done"

    wanted = {"goal": "g", "limits": {"reply_tokens": 300}}
    async with lives(path, Held(ordinary(step=step)), limits=Limits(reply_tokens=500)) as caller:
        run = await begun(caller, **wanted)
        await in_state(caller, run, "running")
    async with lives(path, Held(ordinary(step=step), "never"), limits=Limits(reply_tokens=200)) as caller:
        await ended(caller, run)

    assert {200} == set(seen)


async def test_a_fault_in_one_run_ends_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    """It is logged, and the run is not tried again in this process: it would only fail again."""
    asked = list[str]()

    def plan(request: Request) -> Line:
        asked.append(request.messages[-1].text)
        if "broken" in request.messages[-1].text:
            raise LookupError("a bug")
        return asks("plan", steps=[{"id": "a", "task": "a", "depends_on": []}])

    model = played(
        plan=plan, step=lambda _: "x", verdict=lambda _: asks("verdict", achieved=True, confidence=1.0), synthesis=lambda _: "y"
    )
    async with served(service_of(model)) as caller:
        broken = await begun(caller, goal="broken")
        other = await begun(caller, goal="sound")
        end = await ended(caller, other)
        await anyio.sleep(3 * SWEEP)
        state = (await caller.get(f"/v1/runs/{broken}")).json["state"]

    assert ("achieved", "interrupted") == (end["state"], state)
    assert 2 == len(asked)
    assert "LookupError: a bug" in capsys.readouterr().err


async def test_an_attached_run_ends_with_its_client() -> None:
    """It is cancelled at once, its calls too, and what it cost so far is kept."""
    model, journal = Held(ordinary()), MemoryJournal()
    async with served(service_of(model, journal=journal)) as caller:
        async with caller.open("/v1/runs", {"goal": "g", "attached": True}) as stream:
            await model.until_asked(2)
            run = stream.answer.headers["location"].rpartition("/")[2]
        report = await in_state(caller, run, "cancelled")
        asked = model.asked
        await anyio.sleep(3 * SWEEP)

    assert (201, 2, 2) == (stream.answer.status, model.left, asked)
    assert 2 == model.asked
    assert 15 == report["usage"]["input_tokens"] + report["usage"]["output_tokens"]


async def test_an_attached_run_ends_with_the_server(tmp_path: Path) -> None:
    """Its client went with it, so nobody goes on with it."""
    path, model = tmp_path / "j.sqlite3", Held(ordinary())
    async with in_file(path) as journal:
        service = service_of(model, journal=journal)
        async with served(service) as caller, caller.open("/v1/runs", {"goal": "g", "attached": True}) as stream:
            await model.until_asked(2)
            await service.drain()
            await stream.until(lambda: stream.answer.whole)
    run = stream.answer.headers["location"].rpartition("/")[2]
    async with lives(path, Held(ordinary(), "never")) as caller:
        report = await ended(caller, run)

    assert ("cancelled", "done") == (report["state"], stream.events[-1].channel)


async def test_an_attached_run_of_a_dead_server_is_cancelled() -> None:
    """A process that was killed could not say so; the next one does."""
    journal = MemoryJournal()
    writer = await journal.claim("acme.r", holder="dead", ttl=1)
    setup = Setup(limits=Limits(), attached=True).written()
    await writer.append((RunStarted(goal="g", plan=None, inputs={}, today="2026-01-02", setup=setup), 1.0))
    model = Held(ordinary(), "plan")
    async with served(service_of(model, journal=journal)) as caller:
        report = await in_state(caller, "acme.r", "cancelled")

    assert ("cancelled", 0) == (report["state"], model.asked)


async def test_an_attached_run_that_waits_ends_with_its_client_too() -> None:
    """Though nobody is working on it at that moment."""
    async with served() as caller:
        async with caller.open("/v1/runs", {"plan": SUM, "attached": True}) as stream:
            await stream.until(lambda: any(event.data.get("phase") == "suspended" for event in stream.events))
            run = stream.answer.headers["location"].rpartition("/")[2]
            suspended = await in_state(caller, run, "suspended")
        report = await in_state(caller, run, "cancelled", "achieved")

    assert ("suspended", "cancelled") == (suspended["state"], report["state"])


async def test_an_attached_run_that_waits_ends_with_the_server() -> None:
    """Otherwise an answer would wake it for nobody."""
    journal = MemoryJournal()
    service = service_of(journal=journal)
    async with served(service) as caller, caller.open("/v1/runs", {"plan": SUM, "attached": True}) as stream:
        await stream.until(lambda: any(event.data.get("phase") == "suspended" for event in stream.events))
        await service.drain()
        await stream.until(lambda: stream.answer.whole)
    (run,) = await journal.runs()

    assert "run_ended" == (await journal.read(run.run))[-1].event.kind
    assert () == service.underway.attached


async def test_no_effect_is_done_twice_by_a_restart(tmp_path: Path) -> None:
    """A tool call that was begun when the server ended is put to a person, not done again."""
    sent, at_work = list[str](), anyio.Event()

    @tool
    async def send(text: str) -> str:
        """Send it."""
        sent.append(text)
        at_work.set()
        await anyio.sleep_forever()
        return "sent"

    plan = {"goal": "g", "steps": [{"id": "a", "kind": "tool", "tool": "send", "args": {"text": "hello"}}]}
    path = tmp_path / "j.sqlite3"
    async with lives(path, Held(ordinary(), "never"), tools=[send]) as caller:
        run = await begun(caller, plan=plan)
        await at_work.wait()
    async with lives(path, Held(ordinary(), "never"), tools=[send]) as caller:
        report = await in_state(caller, run, "suspended")
        async with in_file(path) as journal:
            starts = sum(isinstance(recorded.event, ToolStarted) for recorded in await journal.read(run))

    assert (["hello"], 1, "in_doubt") == (sent, starts, report["waiting"][0]["kind"])
