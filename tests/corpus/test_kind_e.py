"""Public faults of kind E, concurrency, durability and server: each case stands for its kind.

A case that has `deviates` goes by this engine's own rules in that point, for the reason that stands there.
"""

import asyncio
import gc
import json
import logging
import traceback
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, Lock, Thread
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import orjson
import pytest
import structlog
import trio
from msgspec.structs import replace
from pydantic import ValidationError
from starlette.middleware.gzip import GZipMiddleware

from orchestrator import MemoryJournal, Orchestrator, SqliteJournal, connect, read_settings
from orchestrator.accepted import Accepted
from orchestrator.errors import JournalUnusable, LoopRunning, RunCancelled
from orchestrator.events.facts import ModelReplied, PlanRejected, RunStarted, StepEnded
from orchestrator.events.glimpses import AnswerPiece, AnswerReset
from orchestrator.events.project import project
from orchestrator.events.recorded import Recorded, decode, encode
from orchestrator.hooks import Hook
from orchestrator.journal.protocol import WHOLE_RUN, Line, Writer
from orchestrator.logs import show_logs
from orchestrator.run import Answer
from orchestrator.server.app import create_app
from orchestrator.server.binding import bound, refuse_exposed
from orchestrator.server.feeds import STALLED
from orchestrator.server.guard import GuardLimits
from orchestrator.server.guard.bodies import BodyLimits
from orchestrator.server_settings import ServerSettings
from orchestrator.toolsets import Toolset
from planner import Input, Plan, PlanError, Step, ToolStep
from planner.results import Failed, StepResult, Succeeded
from registry.calls import NO_CALL, Call
from registry.errors import ConfigurationError, Overloaded, Truncated, Unauthorized
from registry.governor.governor import GovernedModel, Governor
from registry.governor.retry import RetryingModel
from registry.http import HttpDoor, Timeouts
from registry.messages import Json, Piece, Reply, Request, ToolCall
from registry.models.layer import ModelLayer
from registry.models.model import Model
from registry.models.registry import ModelRegistry
from registry.openai import OpenAIModel
from registry.testing import ScriptedModel, asks_many
from registry.tools.children import run_child
from registry.tools.function import FunctionTool, tool
from registry.tools.tool import ABSENT, Absence, Effect
from registry.usage import UNMETERED
from tests.backends import backend
from tests.contracts.journal import texts
from tests.contracts.model import Body
from tests.orchestrator.journal.child import FACTS, RUNS, child
from tests.orchestrator.journal.opening import in_file
from tests.orchestrator.parts import judged, plan_of, planned, played
from tests.orchestrator.server.driving import Caller, Held, in_state, ordinary, served, service_of
from tests.orchestrator.server.guard.house import asked, guard
from tests.orchestrator.server.live import connected, request, until
from tests.orchestrator.server.live import served as live_server
from tests.registry.servers import response, serving
from tests.registry.test_openai import ASK, BODY, EVENTS, HELLO

pytestmark = pytest.mark.anyio

CASES: Mapping[str, Mapping[str, Json]] = {
    case["id"]: case for case in map(json.loads, (Path(__file__).parent / "data" / "kind_e.jsonl").read_text().splitlines())
}


_asserted: set[str] = set()


def case(case_id: str) -> pytest.MarkDecorator:
    """The test of one case, under its name: the case says what went in and what is right."""
    _asserted.add(case_id)
    return pytest.mark.parametrize("case", [pytest.param(CASES[case_id], id=case_id)])


def test_every_case_is_asserted() -> None:
    """No case is forgotten."""
    assert CASES.keys() == _asserted


class _Answers(BaseHTTPRequestHandler):
    """An endpoint that plays every part of a small run, and keeps its connections open."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps({"choices": [{"index": 0, **_choice(asked)}], "model": "m"}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Says nothing."""


def _choice(asked: Json) -> Json:
    names = [tool["function"]["name"] for tool in asked.get("tools", ())]
    replies = {"plan": planned("x"), "verdict": judged(True)}
    calls = [
        {"id": "call_1", "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for name in names
        for call in replies[name].calls
    ]
    if calls:
        return {"message": {"role": "assistant", "content": None, "tool_calls": calls}, "finish_reason": "tool_calls"}
    goal = asked["messages"][-1]["content"].partition("\n")[0]
    return {"message": {"role": "assistant", "content": f"answer to {goal}"}, "finish_reason": "stop"}


@contextmanager
def endpoint() -> Iterator[OpenAIModel]:
    """A model behind a real HTTP door, at a server on a loopback socket."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    serving = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/v1"
        yield OpenAIModel("local:m", model="m", base_url=url, api_key=None, door=HttpDoor())
    finally:
        server.shutdown()
        serving.join()
        server.socket.close()


@case("E10")
async def test_what_could_not_be_stored_is_not_announced(case: Mapping[str, Json]) -> None:
    """Nobody hears that a step ended, and it is as if it had not. When there is room again, what was stored is not done again."""
    assert "fail the store write right after a step" == case["input"]["steps"][0]
    stored, model = MemoryJournal(), played(step=["found"])
    seen: list[Recorded] = []
    with pytest.raises(JournalUnusable, match="no room"):
        async with Orchestrator(model, journal=Full(stored)).open(
            plan_of(Step(id="x", task="x"), output="${steps.x.output}")
        ) as run:
            seen += [recorded async for recorded in run.events]

    assert ["run_started", "plan_ready", "phase_began", "step_started", "model_replied"] == [
        recorded.event.kind for recorded in seen if recorded.seq
    ]
    assert tuple(recorded for recorded in seen if recorded.seq) == await stored.read(run.id)
    assert [] == [recorded for recorded in seen if "completed" in repr(project(recorded))]
    answer = await Orchestrator(model, journal=stored).resume(run.id)
    assert ("achieved", "found") == (answer.outcome, answer.output)


class Full(MemoryJournal):
    """A journal that has no more room once a step has ended, and hands everything before that on to another."""

    def __init__(self, inner: MemoryJournal) -> None:
        super().__init__()
        self._runs = inner._runs

    async def claim(self, run: str, *, holder: str, ttl: float, scope: str = WHOLE_RUN) -> "FullWriter":
        return FullWriter(await super().claim(run, holder=holder, ttl=ttl, scope=scope))


class FullWriter:
    glance = None

    def __init__(self, inner: Writer) -> None:
        self._full = False
        self.epoch, self.renew, self.release, self._append = inner.epoch, inner.renew, inner.release, inner.append

    async def append(self, *lines: Line) -> tuple[Recorded, ...]:
        self._full |= any(isinstance(fact, StepEnded) for fact, _ in lines)
        if self._full:
            raise JournalUnusable("in memory", "no room")
        return await self._append(*lines)


@case("E11")
@pytest.mark.real_clock
def test_two_processes_resume_one_run(case: Mapping[str, Json], tmp_path: Path) -> None:
    """One does it. The other is told who does, at once; when that one is gone it takes over, and sends nothing again."""
    assert ["two processes call resume(run) at the same time"] == case["input"]["steps"]
    path = tmp_path / "journal.db"
    plan = plan_of(ToolStep(id="send", tool="send"), output="${steps.send.output}")
    anyio.run(begun, path, RunStarted(goal="g", plan=plan, inputs={}, today="2026-01-02"))

    with child("resume", path) as one, child("resume", path) as other:
        both = {"one": one, "other": other}
        for each in both.values():
            each.tell("go")
        said = {name: each.hear() for name, each in both.items()}
        winner = both.pop("one" if said["one"] == "sending" else "other")
        ((name, loser),) = both.items()
        assert "sending" in said.values()
        assert f"RunHeld: run 'r' is already being worked on by process {winner.process.pid} on " in said[name]
        assert loser.ask("go").startswith("RunHeld: ")

        winner.process.kill()
        winner.process.wait()

        assert "suspended" == loser.ask("go")


async def begun(path: Path, started: RunStarted) -> None:
    """A run `r` that was accepted, and that nobody works on."""
    async with in_file(path) as journal:
        writer = await journal.claim("r", holder="before", ttl=60.0)
        await writer.append((started, 1.0))


@case("E17")
@pytest.mark.real_clock
def test_fifty_writers_and_one_file(case: Mapping[str, Json], tmp_path: Path) -> None:
    """Every event of every run of both processes is stored, once and in its order."""
    assert [f"{RUNS} parallel runs, each {FACTS} events, in two processes, one database file"] == case["input"]["steps"]
    path = tmp_path / "journal.db"
    with child("storm", path) as one, child("storm", path) as other:
        one.tell("a")
        other.tell("b")
        assert ["done", "done"] == [one.hear(), other.hear()]

    assert {
        f"{name}{number}": [f"{name}{number}:{event}" for event in range(FACTS)] for name in "ab" for number in range(RUNS)
    } == anyio.run(stored, path)


async def stored(path: Path) -> dict[str, list[str]]:
    async with in_file(path) as journal:
        return {listed.run: texts(await journal.read(listed.run)) for listed in await journal.runs()}


@case("E18")
def test_run_sync_twice_in_one_process(case: Mapping[str, Json]) -> None:
    """The second run has a loop of its own, and no connection of the first."""
    assert "agent.run_sync('a'); agent.run_sync('b')" == case["input"]["code"]
    with endpoint() as model:
        agent = Orchestrator(model)
        answers = [agent.run_sync("a"), agent.run_sync("b")]

    assert [("achieved", "answer to a"), ("achieved", "answer to b")] == [(each.outcome, each.output) for each in answers]


@case("E19")
@pytest.mark.parametrize("run", [asyncio.run, lambda main: trio.run(lambda: main)], ids=["asyncio", "trio"])
def test_run_sync_inside_a_running_loop(case: Mapping[str, Json], run: Callable[[Coroutine[None, None, None]], None]) -> None:
    """One clear error that names the async call; no coroutine is left behind that nobody awaits."""
    assert "async def main(): agent.run_sync('a')" == case["input"]["code"][0]
    journal = MemoryJournal()

    async def main() -> None:
        with pytest.raises(LoopRunning, match=r"running event loop; use `await orchestrator\.run\(\.\.\.\)`"):
            agent.run_sync("a")

    with endpoint() as model:
        agent = Orchestrator(model, journal=journal)
        run(main())
        assert "achieved" == agent.run_sync("a").outcome


@case("E19")
def test_run_sync_with_a_closed_current_loop(case: Mapping[str, Json]) -> None:
    """A closed loop that somebody left as the current one is nobody's business."""
    assert "asyncio.set_event_loop(closed_loop); agent.run_sync('a')" == case["input"]["code"][1]
    closed = asyncio.new_event_loop()
    closed.close()
    asyncio.set_event_loop(closed)
    try:
        with endpoint() as model:
            answer = Orchestrator(model).run_sync("a")
    finally:
        asyncio.set_event_loop(None)

    assert ("achieved", "answer to a") == (answer.outcome, answer.output)


POOL, PARALLEL, CANCELLED, LATER_ON = 2, 50, 40, 10


@case("E21")
@pytest.mark.real_clock
@pytest.mark.parametrize("own", [False, True], ids=["our pool", "a pool of the caller's"])
async def test_cancelled_calls_leave_their_places(case: Mapping[str, Json], own: bool) -> None:
    """In whatever moment a call is cancelled, its slot and its connection go to the others, whose wait is no timeout."""
    assert f"pool of {POOL}, {PARALLEL} model calls in parallel, cancel {CANCELLED}" in case["input"]["steps"][0]
    governor, answered = Governor("here", POOL), Counter[str]()

    async def ask(model: Model, who: str, scope: anyio.CancelScope) -> None:
        with scope:
            await model.chat(ASK, NO_CALL)
            answered[who] += 1

    async def cancel(scope: anyio.CancelScope, steps: int) -> None:
        for _ in range(steps):
            await anyio.lowlevel.checkpoint()
        scope.cancel()

    async with (
        serving(lambda _: [response(orjson.dumps(BODY))]) as server,
        httpx.AsyncClient(limits=httpx.Limits(max_connections=POOL), timeout=httpx.Timeout(0.001)) as client,
        HttpDoor(client if own else None) as door,
    ):
        wire = OpenAIModel("x:m", model="m", base_url=f"{server.url}/v1", api_key=None, door=door)
        model = GovernedModel(wire, governor)
        async with anyio.create_task_group() as group:
            for place in range(PARALLEL):
                scope = anyio.CancelScope()
                group.start_soon(ask, model, "cancelled" if place < CANCELLED else "kept", scope)
                if place < CANCELLED:
                    group.start_soon(cancel, scope, place)
        async with anyio.create_task_group() as group:
            for _ in range(LATER_ON):
                group.start_soon(ask, model, "later", anyio.CancelScope())

    assert (PARALLEL - CANCELLED, LATER_ON) == (answered["kept"], answered["later"])
    assert answered["cancelled"] < CANCELLED
    assert (POOL, 0) == (governor.free, governor.waiting)


SILENT: tuple[bytes | float, ...] = (EVENTS[0], 3600.0, *EVENTS[1:])
"""One token, then nothing, and the socket stays open."""

IMPATIENT = Timeouts(idle=0.5)


def behind(*answers: httpx.Response, timeouts: Timeouts) -> Model:
    """A model whose endpoint gives these answers in turn; what fails for a while is asked for again."""
    left = iter(answers)
    door = HttpDoor(httpx.MockTransport(lambda _: next(left)))
    wire = OpenAIModel("x:m", model="m", base_url="https://x/v1", api_key=None, door=door, timeouts=timeouts)
    return RetryingModel(wire, jitter=lambda: 0.0)


def arriving(*pieces: bytes | float, media: str = "text/event-stream") -> httpx.Response:
    return httpx.Response(200, headers={"content-type": media}, stream=Body(*pieces))


@case("E23")
async def test_silence_where_nothing_was_shown(case: Mapping[str, Json]) -> None:
    """The call is given up when it has been silent for too long, and made again; its cost is unknown."""
    assert "sends one token, then nothing, socket open" == case["input"]["server"]
    began = anyio.current_time()
    silent = arriving(b'{"choices":', 3600.0, media="application/json")
    reply = await behind(silent, httpx.Response(200, json=BODY), timeouts=IMPATIENT).chat(ASK, NO_CALL)

    assert ("hello", UNMETERED + HELLO.usage) == (reply.text, reply.usage)
    assert 1.0 == pytest.approx(anyio.current_time() - began, abs=0.2)


@case("E23")
async def test_silence_in_the_middle_of_the_answer(case: Mapping[str, Json]) -> None:
    """Watchers are told that what they saw is void, and get an answer all the same."""
    assert "watchers told" in case["right"]
    model = behind(arriving(*SILENT), timeouts=IMPATIENT)
    parts = played(plan=[planned("x")], step=["found"], verdict=[judged(True, final_answer="the judge's answer")])
    began = anyio.current_time()
    async with Orchestrator(ModelRegistry({"general": parts, "synthesis": model})).open("goal") as run:
        seen = [recorded.event async for recorded in run.events]
        answer = await run.answer()

    assert 0.5 == pytest.approx(anyio.current_time() - began, abs=0.2)
    assert ("achieved", "the judge's answer", 1) == (answer.outcome, answer.output, answer.usage.unmetered)
    assert ["hel", "AnswerReset", "the judge's answer"] == [
        event.text if isinstance(event, AnswerPiece) else type(event).__name__
        for event in seen
        if isinstance(event, AnswerPiece | AnswerReset)
    ]


@case("E25")
async def test_a_slow_stream_is_not_late(case: Mapping[str, Json]) -> None:
    """What keeps coming may take as long as it takes: the clocks measure silence, and only a deadline the whole."""
    assert "one token every 0.2 s for 20 s" == case["input"]["server"]
    limit = case["input"]["client_total_timeout_s"]
    tokens = [piece for _ in range(100) for piece in (0.2, EVENTS[0])]
    timeouts, began = Timeouts(connect=limit, first_byte=limit, idle=limit), anyio.current_time()
    *shown, reply = [piece async for piece in behind(arriving(*tokens, *EVENTS[1:]), timeouts=timeouts).stream_chat(ASK, NO_CALL)]

    assert 20.0 == pytest.approx(anyio.current_time() - began, abs=0.5)
    assert Reply(text="hel" * 100 + "lo", usage=HELLO.usage, model="m-2025") == reply
    assert 101 == len(shown)

    hurried = Call(deadline=anyio.current_time() + limit)
    with pytest.raises(Truncated, match="deadline"):
        async for _ in behind(arriving(*tokens), timeouts=timeouts).stream_chat(ASK, hurried):
            pass
    assert hurried.deadline == pytest.approx(anyio.current_time(), abs=0.5)


@case("E25")
async def test_a_slow_whole_answer_is_not_late(case: Mapping[str, Json]) -> None:
    """Of a call that is not streamed the first byte is as late as the last: it has minutes by default."""
    assert "limits are idle and run deadline" in case["right"]

    async def slow(request: httpx.Request) -> httpx.Response:
        await anyio.sleep(299)
        return httpx.Response(200, json=BODY)

    model = OpenAIModel("x:m", model="m", base_url="https://x/v1", api_key=None, door=HttpDoor(httpx.MockTransport(slow)))
    assert HELLO == await model.chat(ASK, NO_CALL)


class Post:
    """A step that sends a mail, and the mailbox, which outlives every process."""

    def __init__(self, effect: Effect) -> None:
        self.sent: list[str] = []

        @tool(effect=effect, probe=self._known if effect == "transactional" else None)
        async def send(to: str, call: Call) -> str:
            """Send a mail."""
            self.sent.append(call.key)
            return f"sent to {to}"

        self.tools = [send]

    async def _known(self, key: str) -> str | Absence:
        return "sent to Ann" if key in self.sent else ABSENT

    async def killed_and_resumed(self, plan: Plan, *, after: str) -> Answer:
        """The end of a run whose process was killed right after the first Fact of a kind, and which was resumed."""
        journal, killed = MemoryJournal(), MemoryJournal()
        whole = await Orchestrator(ScriptedModel([]), tools=self.tools, journal=journal).run(plan)
        writer = await killed.claim(whole.run_id, holder="the killed one", ttl=60)
        for recorded in await journal.read(whole.run_id):
            await writer.append((decode(encode(recorded)).event, recorded.time))
            if recorded.event.kind == after:
                break
        await writer.release()
        return await Orchestrator(ScriptedModel([]), tools=self.tools, journal=killed).resume(whole.run_id)


MAIL = Plan(goal="mail", steps=[ToolStep(id="mail", tool="send", args={"to": "Ann"})], output="${steps.mail.output}")


@case("E08")
@pytest.mark.parametrize(
    ("effect", "outcome", "times"),
    [
        pytest.param("keyed", "achieved", 2, id="with our key"),
        pytest.param("transactional", "achieved", 1, id="recorded with our key"),
        pytest.param("unkeyed", "suspended", 1, id="without a key"),
    ],
)
async def test_killed_between_an_effect_and_its_record(
    case: Mapping[str, Json], effect: Effect, outcome: str, times: int
) -> None:
    """What is safe to repeat is, under the same key; what is recorded with the key is looked up; all else is asked about."""
    assert "stable across attempts" in case["right"]
    post = Post(effect)
    answer = await post.killed_and_resumed(MAIL, after="tool_started")

    assert (outcome, times, 1) == (answer.outcome, len(post.sent), len(set(post.sent)))
    assert ("" if outcome == "suspended" else "sent to Ann") == answer.output


@case("E08")
@pytest.mark.parametrize("effect", ["pure", "keyed", "transactional", "unkeyed"])
async def test_an_effect_with_a_record_never_runs_again(case: Mapping[str, Json], effect: Effect) -> None:
    """Whatever its effect."""
    assert "a step with a record never runs again" in case["right"]
    post = Post(effect)
    answer = await post.killed_and_resumed(MAIL, after="tool_ended")

    assert ("achieved", "sent to Ann", 1) == (answer.outcome, answer.output, len(post.sent))


LOCKED = {"client": Lock(), "n": 1}
"""The state of the case."""


@case("E15")
@pytest.mark.parametrize(
    ("put_in", "refusal"),
    [
        pytest.param(lambda: ToolStep(id="a", tool="t", args=LOCKED), "args.client is a lock", id="arguments of a plan"),
        pytest.param(lambda: Input(default=LOCKED), "default.client is a lock", id="default of an input"),
        pytest.param(
            lambda: Orchestrator(ScriptedModel([])).run_sync(
                Plan(goal="g", inputs={"i": {}}, steps=MAIL.steps), inputs={"i": LOCKED}
            ),
            "inputs.i.client is a lock",
            id="inputs of a run",
        ),
        pytest.param(
            lambda: Accepted.of("g", {}, today="", setup=LOCKED), "setup.client is a lock", id="what a run was set up with"
        ),
    ],
)
def test_what_cannot_be_stored_never_gets_in(case: Mapping[str, Json], put_in: Callable[[], object], refusal: str) -> None:
    """It is refused by whoever is given it, with the key at which it stands."""
    assert {"client": "<object with a thread lock>", "n": 1} == case["input"]["state"]
    with pytest.raises((ValidationError, ConfigurationError), match=refusal):
        put_in()


@case("E15")
async def test_what_a_hook_puts_in_is_refused_where_it_does(case: Mapping[str, Json]) -> None:
    """It counts as a denial: the step fails with the key in the sentence, and its siblings go on."""
    assert "naming the key" in case["right"]

    class Puts(Hook):
        async def after_step(self, result: StepResult) -> StepResult:
            return replace(result, data=LOCKED) if result.step == "mail" else result

    @tool(effect="pure")
    async def send(to: str) -> str:
        """Send a mail."""
        return f"sent to {to}"

    other = ToolStep(id="other", tool="send", args={"to": "Bob"})
    plan = Plan(goal="g", steps=[*MAIL.steps, other], output="${steps.other.output}")
    answer = await Orchestrator(ScriptedModel([]), tools=[send], hooks=[Puts()]).run(plan)

    failed = answer.steps["mail"]
    assert isinstance(failed, Failed)
    assert "its answer.data.client is a lock, which can't be stored" in failed.message
    assert ("missing", "sent to Bob") == (answer.outcome, answer.output)


@case("E15")
async def test_what_a_tool_returns_is_stored_as_what_can_be_shown_of_it(case: Mapping[str, Json]) -> None:
    """A tool can't be made to return only JSON: what is none becomes a note that names its type, and the rest is kept."""
    assert "marked transient" in case["right"]

    @tool(effect="pure")
    async def send(to: str) -> dict[str, object]:
        """Send a mail."""
        return LOCKED

    journal = MemoryJournal()
    answer = await Orchestrator(ScriptedModel([]), tools=[send], journal=journal).run(MAIL)

    mailed = answer.steps["mail"]
    assert isinstance(mailed, Succeeded)
    assert {"client": "<lock: can't be shown as text>", "n": 1} == mailed.data
    assert all(recorded == decode(encode(recorded)) for recorded in await journal.read(answer.run_id))


@case("E13")
async def test_a_plan_that_is_none_is_kept_and_asked_for_anew(case: Mapping[str, Json]) -> None:
    """What the planner said and what was wrong with it are written down first; a later life plans again."""
    assert ["planner output fails validation", "kill", "resume"] == case["input"]["steps"]
    journal = MemoryJournal()
    with pytest.raises(PlanError):
        await Orchestrator(ScriptedModel(lambda _: "hours of thought"), journal=journal).run("the goal")
    (run,) = await journal.runs()
    facts = [recorded.event for recorded in await journal.read(run.run)]
    well = played(plan=[planned("x")], step=["found x"], verdict=[judged(True)], synthesis=["It is x."])
    answer = await Orchestrator(well, journal=journal).resume(run.run)

    said = [fact.reply.text for fact in facts if isinstance(fact, ModelReplied)]
    assert {"hours of thought"} == set(said)
    assert [fact.diagnostics[0].code for fact in facts if isinstance(fact, PlanRejected)] == ["P014"]
    assert ("achieved", "It is x.") == (answer.outcome, answer.output)


@case("E26")
@pytest.mark.real_clock
async def test_no_sink_shows_the_key(
    case: Mapping[str, Json], capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """Settings, logs of every level, events, errors with their causes, and the journal's file: the key is in none of them."""
    key = case["input"]["env"]["API_KEY"]
    caplog.set_level(logging.DEBUG)
    settings = read_settings({"OPENAI_API_KEY": key}, folder=tmp_path)

    def refusing(request: httpx.Request) -> httpx.Response:
        assert f"Bearer {key}" == request.headers["authorization"]
        return httpx.Response(401, json={"error": {"message": f"Incorrect API key provided: {key}"}})

    with logs():
        door = HttpDoor(httpx.AsyncClient(transport=httpx.MockTransport(refusing)))
        model = connect("openai:m", api_key=settings.keys["OPENAI_API_KEY"], base_url="https://endpoint.example/v1", door=door)
        async with SqliteJournal.open(tmp_path / "journal.db") as journal:
            orchestrator = Orchestrator(model, journal=journal)
            with pytest.raises(Unauthorized) as raised:
                await orchestrator.run("the goal")
            (run,) = await journal.runs()
            told = [encode(recorded).decode() for recorded in await journal.read(run.run)]
    told += [repr(settings), repr(orchestrator), repr(model), *capfd.readouterr(), caplog.text]
    told += traceback.format_exception(raised.value)
    told += [await path.read_text("latin-1") async for path in anyio.Path(tmp_path).rglob("*") if await path.is_file()]

    assert "model_connected" in "".join(told)
    assert "run_ended" in "".join(told)
    assert 0 == "".join(told).count(key)


@contextmanager
def logs() -> Iterator[None]:
    """Every log line to stderr, for as long as the block lasts."""
    show_logs()
    try:
        yield
    finally:
        structlog.reset_defaults()


@case("E37")
async def test_a_task_is_not_collected_while_it_waits(case: Mapping[str, Json]) -> None:
    """Nobody but its own block refers to a run that waits for its model, and it ends as it should."""
    assert "force gc.collect() while it waits" in case["input"]["steps"]

    class Slow(ModelLayer):
        async def chat(self, request: Request, call: Call) -> Reply:
            await anyio.sleep(10)
            gc.collect()
            return await self._inner.chat(request, call)

        def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
            return self._inner.stream_chat(request, call)

    model = played(plan=[planned("x")], step=["found x"], verdict=[judged(True)], synthesis=["It is x."])
    async with Orchestrator(Slow(model)).open("the goal") as run:
        for _ in range(10):
            await anyio.sleep(1)
            gc.collect()
        answer = await run.answer()

    assert ("achieved", "It is x.") == (answer.outcome, answer.output)


@case("E38")
async def test_cancelled_while_it_waits_to_try_again(case: Mapping[str, Json]) -> None:
    """The wait that an endpoint asks for can be given up at once, and no task is left."""
    assert ["provider answers 429 with Retry-After 30", "cancel after 0.2 s"] == case["input"]["steps"]
    busy = Overloaded("here", "too many", retry_after=30)
    model, alive = RetryingModel(ScriptedModel([busy]), jitter=lambda: 0.5), len(anyio.get_running_tasks())
    began = anyio.current_time()

    with anyio.move_on_after(0.2) as scope:
        await Orchestrator(model).run("the goal")

    assert scope.cancelled_caught
    assert anyio.current_time() - began < 0.5
    assert alive == len(anyio.get_running_tasks())


TRACE = ContextVar("TRACE", default="nobody's")


@case("E36")
@pytest.mark.real_clock
async def test_every_thread_knows_whose_it_is(case: Mapping[str, Json]) -> None:
    """Run, step and key come with the call, and what a hook sets for a call is seen in its thread: nothing is mixed up."""
    assert "two runs in parallel, each two SYNC tools in parallel" == case["input"]["steps"][0]
    together, logged = Barrier(4), list[tuple[str, str, str, str, str]]()

    class Traces(Hook):
        async def before_tool(self, wanted: ToolCall, call: Call) -> ToolCall:
            TRACE.set(f"{call.run} {wanted.name}")
            return wanted

    def made(name: str) -> FunctionTool[..., str]:
        def work(call: Call) -> str:
            """Work, while all the others do."""
            together.wait(20)
            logged.append((call.run, call.label, call.key, name, TRACE.get()))
            return name

        return FunctionTool(work, name=name, effect="pure")

    runs: list[str] = []

    async def one(step: str) -> None:
        model = ScriptedModel([asks_many(("left", {}), ("right", {})), "done"])
        plan = plan_of(Step(id=step, task=step), output=f"${{steps.{step}.output}}")
        runs.append((await Orchestrator(model, tools=[made("left"), made("right")], hooks=[Traces()]).run(plan)).run_id)

    async with anyio.create_task_group() as group:
        group.start_soon(one, "x")
        group.start_soon(one, "y")

    assert {(run, name) for run in runs for name in ("left", "right")} == {(run, name) for run, _, _, name, _ in logged}
    assert {"x", "y"} == {label for _, label, _, _, _ in logged}
    assert 4 == len({(run, key) for run, _, key, _, _ in logged})
    assert [f"{run} {name}" for run, _, _, name, _ in logged] == [trace for *_, trace in logged]
    assert 2 == len({(run, label) for run, label, _, _, _ in logged})


@case("E39")
@pytest.mark.real_clock
async def test_a_cancelled_tool_leaves_no_process(case: Mapping[str, Json], tmp_path: Path) -> None:
    """The child and all that it has started are gone within 2 s, and the run has been cancelled."""
    command, (when, _) = case["input"]["tools"]["sh"], case["input"]["steps"]

    @tool
    async def sh() -> str:
        """Run it."""
        return (await run_child(["sh", "-c", command], cwd=tmp_path)).output

    def at_home() -> list[Path]:
        return [link for link in Path("/proc").glob("[0-9]*/cwd") if _leads_to(link, tmp_path)]

    async with Orchestrator(ScriptedModel([]), tools=[sh]).open(
        plan_of(ToolStep(id="sh", tool="sh"), output="${steps.sh.output}")
    ) as run:
        assert "cancel after 0.3 s" == when
        await anyio.sleep(0.3)
        with anyio.fail_after(20):
            while len(at_home()) < 2:  # noqa: ASYNC110 (nobody tells us of what happens in other processes)
                await anyio.sleep(0.01)
        await run.cancel()
        with anyio.fail_after(2):
            while at_home():  # noqa: ASYNC110
                await anyio.sleep(0.01)
        with pytest.raises(RunCancelled):
            await run.answer()


def _leads_to(link: Path, folder: Path) -> bool:
    try:
        return link.readlink() == folder
    except OSError:  # it has just ended, or is somebody else's
        return False


@case("E20")
@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
async def test_connections_end_in_any_order(case: Mapping[str, Json], order: tuple[str, str]) -> None:
    """Each has a task of its own, which opens and closes it, whichever tasks use it and end the run: no stranger is cancelled."""
    assert ["open connections A then B", "close A then B, from a finaliser task"] == case["input"]["steps"]
    diary: list[str] = []
    bystander = anyio.Event()

    def connection(name: str) -> Toolset:
        @tool(name=name, effect="pure")
        async def ask() -> str:
            """Ask at the other end."""
            return f"{name} answered"

        @asynccontextmanager
        async def opened() -> AsyncGenerator[list[FunctionTool[[], Coroutine[Any, Any, str]]], None]:
            async with anyio.create_task_group() as group:
                group.start_soon(anyio.sleep_forever)
                diary.append(f"open {name}")
                yield [ask]
                await anyio.sleep(1 + order.index(name))
                diary.append(f"close {name}")
                group.cancel_scope.cancel()

        return opened

    async def stranger() -> None:
        await anyio.sleep(100)
        bystander.set()

    steps = [ToolStep(id=name, tool=name) for name in "ab"]
    plan = Plan(goal="g", steps=steps, output="${steps.b.output}")
    async with anyio.create_task_group() as group:
        group.start_soon(stranger)
        answer = await Orchestrator(ScriptedModel([]), toolsets=[connection("a"), connection("b")]).run(plan)

    assert ("achieved", "b answered", True) == (answer.outcome, answer.output, bystander.is_set())
    assert ["open a", "open b", *(f"close {name}" for name in order)] == diary


@case("E01")
async def test_the_client_of_an_attached_run_leaves(case: Mapping[str, Json]) -> None:
    """Its calls are ended at once, no new one is made, the run is cancelled, and what it cost so far is written down."""
    assert "close the socket" == case["input"]["steps"][1]
    model = Held(ordinary())
    async with served(service_of(model)) as caller:
        async with caller.open("/v1/runs", {"goal": "g", "attached": True}) as stream:
            await model.until_asked(2)
            await stream.until(lambda: len(stream.events) >= 2)
            run = stream.answer.headers["location"].rpartition("/")[2]
        left = anyio.current_time()
        report = await in_state(caller, run, "cancelled")
        took = anyio.current_time() - left
        await anyio.sleep(3)

    assert took < 1
    assert (2, 2) == (model.asked, model.left)
    assert 1 == report["usage"]["requests"]


@case("E03")
async def test_one_of_two_watchers_leaves(case: Mapping[str, Json]) -> None:
    """The run goes on, and the other one sees all of it."""
    assert ["start a detached run", "two watchers", "close one"] == case["input"]["steps"]
    model = Held(ordinary())
    async with served(service_of(model)) as caller:
        run = (await caller.post("/v1/runs", {"goal": "g"})).json["id"]
        async with caller.open(f"/v1/runs/{run}/events") as other:
            async with caller.open(f"/v1/runs/{run}/events") as one:
                await one.until(lambda: bool(one.events))
            model.open.set()
            await other.until(lambda: other.answer.whole)
        report = (await caller.get(f"/v1/runs/{run}")).json

    assert ("achieved", "done") == (report["state"], other.events[-1].channel)


@case("E04")
async def test_a_client_comes_back(case: Mapping[str, Json]) -> None:
    """It gets what it did not have, without gap or repeat, the end too; an id that is none is refused."""
    assert ["read events 1..5", "drop", "reconnect with Last-Event-ID: 5"] == case["input"]["steps"]
    async with served() as caller:
        run = (await caller.post("/v1/runs", {"goal": "g"})).json["id"]
        whole = [event.id for event in await caller.followed(run) if event.id]
        rest = [event.id for event in await caller.followed(run, last_event_id=whole[4]) if event.id]
        end = await caller.followed(run, last_event_id=whole[-2])
        bare = await caller.get(f"/v1/runs/{run}/events", last_event_id="5")

    assert whole[5:] == rest
    assert ["done"] == [event.channel for event in end]
    assert 400 == bare.status


@case("E06")
async def test_a_client_that_never_reads(case: Mapping[str, Json]) -> None:
    """It holds no more than what it is being sent and is dropped, and the run takes no time longer."""
    assert "run produces 100000 token events" == case["input"]["steps"][1]
    model = Held(ordinary(answer="word " * 100_000), "synthesis")
    async with served(service_of(model)) as caller:
        run = (await caller.post("/v1/runs", {"goal": "g"})).json["id"]
        await model.until_asked()
        async with caller.open(f"/v1/runs/{run}/events") as slow:
            slow.stalled = True
            began = anyio.current_time()
            model.open.set()
            report = await in_state(caller, run, "achieved")
            took = anyio.current_time() - began
            await anyio.sleep(STALLED + 2)

    assert took < 30
    assert 500_000 == len(report["answer"])
    assert slow.largest < 1_000_000
    assert (True, False) == (slow.over, slow.answer.whole)


@case("E33")
def test_what_listens_by_default(case: Mapping[str, Json]) -> None:
    """This machine alone; and in public not without TLS, unless somebody says that this is meant."""
    assert "start it with host 0.0.0.0 and no token" == case["input"]["steps"][2]
    listening = bound(ServerSettings().host, 0)
    addresses = {socket_.getsockname()[0] for socket_ in listening}
    for socket_ in listening:
        socket_.close()

    assert {"127.0.0.1"} == addresses
    with pytest.raises(ConfigurationError, match="can be reached from the network"):
        refuse_exposed("0.0.0.0", encrypted=False, allowed=False)
    refuse_exposed("0.0.0.0", encrypted=False, allowed=True)


@case("E33")
async def test_nobody_without_a_token(case: Mapping[str, Json]) -> None:
    """Is let in to anything, wherever the server listens."""
    service = service_of()
    async with service:
        guarded = guard(inside=create_app(service))
        for path in ("/v1/runs", "/v1/models", "/openapi.json", "/v1/runs/harbour.x/events"):
            assert 401 == (await asked(guarded, "GET", path)).status


ON_ASYNCIO = pytest.mark.parametrize("anyio_backend", [backend("asyncio", virtual=False)], ids=["asyncio"])


@case("E35")
@pytest.mark.real_clock
@ON_ASYNCIO
async def test_bodies_that_are_too_much(case: Mapping[str, Json]) -> None:
    """Each is refused as soon as that is known, and nobody else is kept waiting."""
    assert 3 == len(case["input"]["requests"])
    service = service_of()
    limits = GuardLimits(body=BodyLimits(seconds=1.0))
    async with service, live_server(guard(limits, inside=create_app(service))) as live:
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        deep = b"[" * 100_000 + b"]" * 100_000
        answers = {}

        async def sent(name: str, *pieces: bytes | float, headers: tuple[str, ...]) -> None:
            async with await connected(live) as stream:
                await stream.send(request("/v1/runs", "Content-Type: application/json", *headers, method="POST"))
                with suppress(anyio.BrokenResourceError):  # it had enough
                    for piece in pieces:
                        await (anyio.sleep(piece) if isinstance(piece, float) else stream.send(piece))
                answers[name] = (await until(stream, b" "))[9:12] or (await stream.receive())[:3]

        async with anyio.create_task_group() as group:
            group.start_soon(partial(sent, "huge", *[chunk] * 64, headers=("Transfer-Encoding: chunked",)))
            group.start_soon(partial(sent, "deep", deep, headers=(f"Content-Length: {len(deep)}",)))
            group.start_soon(partial(sent, "slow", b"{", 0.5, b" ", 0.5, b" ", 0.5, b" ", headers=("Content-Length: 100",)))
            for _ in range(5):
                began = anyio.current_time()
                async with await connected(live) as stream:
                    await stream.send(request("/health"))
                    assert b"200" in await until(stream, b"\r\n\r\n")
                assert anyio.current_time() - began < 0.5
                await anyio.sleep(0.2)

    assert {"huge": b"413", "deep": b"400", "slow": b"408"} == answers


@case("E40")
async def test_compression_holds_nothing_back(case: Mapping[str, Json]) -> None:
    """Though somebody put the stock middleware around it, headers are there at once and say that nothing is to be held back."""
    assert "server with the stock gzip middleware" == case["input"]["steps"][0]
    model = Held(ordinary(), "plan")
    service = service_of(model, width=1)
    async with service:
        caller = Caller(GZipMiddleware(create_app(service), minimum_size=0))
        await caller.post("/v1/runs", {"goal": "g"})
        run = (await caller.post("/v1/runs", {"goal": "waits for its turn"})).json["id"]
        began = anyio.current_time()
        async with caller.open(f"/v1/runs/{run}/events") as stream:
            await stream.until(lambda: bool(stream.answer.body))
            took = anyio.current_time() - began
            await anyio.sleep(2)
            assert [] == stream.events
            model.open.set()
            await stream.until(lambda: stream.answer.whole)

    assert took < 0.1
    assert "content-encoding" not in stream.answer.headers
    assert "no-transform" in stream.answer.headers["cache-control"]
    assert "no" == stream.answer.headers["x-accel-buffering"]
    assert "done" == stream.events[-1].channel
