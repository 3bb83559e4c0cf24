"""Runs that wait for a person: what waits, what goes on, and that nothing is done twice for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import permutations

import anyio
import pytest

from orchestrator import MemoryJournal, Orchestrator
from orchestrator.answering import decide
from orchestrator.errors import UnknownWaiting
from orchestrator.events.facts import Fact, RunSuspended, StepEnded, ToolEnded, ToolStarted
from orchestrator.events.recorded import decode, encode
from orchestrator.hooks import Hook
from orchestrator.run import Answer, Run
from orchestrator.waiting import Decision, Waiting
from planner import ApprovalStep, Plan, Step, ToolStep
from planner.results import Failed, Skipped, Succeeded
from registry.builtin import ask_user
from registry.calls import Call
from registry.errors import Unreachable
from registry.messages import Reply, Request, ToolCall
from registry.testing import ScriptedModel, asks, asks_many
from registry.tools.function import tool
from tests.orchestrator.parts import Part, judged, planned, played, task
from tests.scenario import ports

pytestmark = pytest.mark.anyio

PLAN = Plan(
    goal="Book a berth",
    steps=[
        Step(id="find", task="Find a harbour", tools=("look", "ask_user", "book")),
        Step(id="weather", task="Describe the weather", tools=("look",)),
        ApprovalStep(id="agree", question="Shall we tell Ann: ${steps.weather.output}?"),
        ToolStep(id="tell", tool="send", args={"to": "Ann", "text": "${steps.weather.output}"}, depends_on="agree"),
        Step(id="note", task="Note ${steps.find.output} and ${steps.tell.output}", tools=()),
    ],
    output="${steps.note.output}",
)
NOTED = "noted: Note North is booked and told Ann"

ANSWERS: dict[str, tuple[Decision, str]] = {
    "Which harbour?": ("answer", "North"),
    'book with {"harbour": "North"}': ("approve", ""),
    "Shall we tell Ann: it is fair?": ("approve", "do"),
    'send with {"text": "it is fair", "to": "Ann"}': ("approve", ""),
}


@dataclass
class World:
    """What was done and said, in all the lives of a run."""

    done: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def orchestrator(self, journal: MemoryJournal, *, native: bool = True) -> Orchestrator:
        """A new process, as it were, on the same world."""

        @tool(effect="pure")
        async def look(at: str) -> str:
            """Look at something."""
            self.done.append(f"look {at}")
            return "fair"

        @tool(requires_approval=True)
        async def book(harbour: str) -> str:
            """Book a berth."""
            self.done.append(f"book {harbour}")
            return f"{harbour} is booked"

        @tool(requires_approval=True)
        async def send(to: str, text: str) -> str:
            """Send a message."""
            self.done.append(f"send {to}: {text}")
            return f"told {to}"

        abilities = {"tool_call": native}
        model = ScriptedModel(self.reply if native else self.reply_in_json, abilities=abilities)
        return Orchestrator(model, tools=[look, book, send, ask_user], journal=journal, ports=ports())

    def reply(self, request: Request) -> Reply | str:
        """What the model says depends on the request alone."""
        self.asked.append(repr([(type(message).__name__, message.text) for message in request.messages]))
        task, *seen = [message.text for message in request.messages if message.role in ("user", "tool")]
        task = task.split("\n")[0]
        if task.startswith("Note"):
            return f"noted: {task}"
        if task.startswith("Describe"):
            return "it is fair" if seen else asks("look", at="sky")
        if not seen:
            return asks_many(("look", {"at": "map"}), ("ask_user", {"question": "Which harbour?"}))
        return seen[-1] if len(seen) > 2 else asks("book", harbour=seen[-1])

    def reply_in_json(self, request: Request) -> str:
        """The same, from a model that asks for one tool at a time, in JSON."""
        self.asked.append(repr([(type(message).__name__, message.text) for message in request.messages]))
        task, *seen = [message.text for message in request.messages if message.role == "user"]
        task, seen = task.split("\n")[0], [text.split("\n")[-2] for text in seen]  # a result stands in a frame
        if task.startswith("Note"):
            return f"noted: {task}"
        if task.startswith("Describe"):
            return _final("it is fair") if seen else _call("look", '{"at": "sky"}')
        if len(seen) < 2:
            return _call("ask_user", '{"question": "Which harbour?"}') if seen else _call("look", '{"at": "map"}')
        return _final(seen[-1]) if len(seen) > 2 else _call("book", f'{{"harbour": "{seen[-1]}"}}')


def _call(name: str, arguments: str) -> str:
    return f'{{"tool_call": {{"name": "{name}", "arguments": {arguments}}}}}'


def _final(text: str) -> str:
    return f'{{"final_answer": "{text}"}}'


async def said(journal: MemoryJournal, run: str, waiting: Waiting) -> None:
    decision, text = ANSWERS[waiting.what]
    await decide(journal, run, waiting.id, decision, text=text, by="Ada")


async def facts(journal: MemoryJournal, run: str) -> list[Fact]:
    """The run's Facts, each as it is when it has been written and read again."""
    return [decode(encode(recorded)).event for recorded in await journal.read(run)]


Order = Callable[[Sequence[Waiting]], Sequence[Waiting]]


async def to_the_end(world: World, *, answering: Order = list, native: bool = True) -> tuple[Answer, MemoryJournal, int]:
    """A run whose process ends whenever nothing can go on. Each time, those answer whom `answering` lets."""
    journal, lives = MemoryJournal(), 1
    answer = await world.orchestrator(journal, native=native).run(PLAN)
    while answer.outcome == "suspended":
        for waiting in answering(answer.waiting):
            await said(journal, answer.run_id, waiting)
        answer, lives = await world.orchestrator(journal, native=native).resume(answer.run_id), lives + 1
    return answer, journal, lives


@pytest.mark.parametrize("native", [True, False], ids=["native", "json"])
@pytest.mark.parametrize(
    "answering",
    [
        pytest.param(list, id="all at once"),
        pytest.param(lambda waiting: list(reversed(waiting)), id="the last one first"),
        pytest.param(lambda waiting: waiting[:1], id="one at a time"),
        pytest.param(lambda waiting: waiting[-1:], id="one at a time, the last one first"),
    ],
)
async def test_answers_come_days_later_and_in_any_order(answering: Order, native: bool) -> None:
    """However often the process ends in between: the same answer, each call made once, nothing paid for twice."""
    world = World()
    answer, journal, _ = await to_the_end(world, answering=answering, native=native)

    assert ("achieved", NOTED) == (answer.outcome, answer.output)
    assert ["book North", "look map", "look sky", "send Ann: it is fair"] == sorted(world.done)
    assert len(world.asked) == len(set(world.asked)) == answer.usage.requests
    keys = [fact.key for fact in await facts(journal, answer.run_id) if isinstance(fact, ToolStarted | ToolEnded)]
    assert 9 == len(keys)  # four tools that ran, and the user's answer, for which none did


async def test_only_what_depends_on_it_waits() -> None:
    """When the run suspends, everything else has been done, and what is waited for stands in the answer and in the journal."""
    journal, world = MemoryJournal(), World()
    answer = await world.orchestrator(journal).run(PLAN)

    assert ("suspended", "", ["weather"]) == (answer.outcome, answer.output, list(answer.steps))
    assert {("find", "question"), ("agree", "approval")} == {(waiting.step, waiting.kind) for waiting in answer.waiting}
    last = (await facts(journal, answer.run_id))[-1]
    assert isinstance(last, RunSuspended)
    assert answer.waiting == last.waiting


async def test_a_run_that_nobody_answers_changes_nothing() -> None:
    """Resumed without an answer it suspends again, waits for the same, and has done and asked nothing."""
    journal, world = MemoryJournal(), World()
    first = await world.orchestrator(journal).run(PLAN)
    done, asked = list(world.done), list(world.asked)
    again = await world.orchestrator(journal).resume(first.run_id)

    assert (first.waiting, first.steps, done, asked) == (again.waiting, again.steps, world.done, world.asked)
    assert 2 == sum(fact.kind == "step_paused" for fact in await facts(journal, first.run_id))


async def answered_live(run: Run, seen: list[str]) -> None:
    async for recorded in run.events:
        if recorded.event.kind == "step_paused":
            waiting = recorded.event.waiting
            seen.append(waiting.what)
            decision, text = ANSWERS[waiting.what]
            await run.decide(waiting.id, decision, text=text, by="Ada")


async def test_answers_while_the_run_goes_on() -> None:
    """Somebody who watches may answer at once, and the run never suspends: it is the same answer."""
    journal, world, seen = MemoryJournal(), World(), []
    async with world.orchestrator(journal).open(PLAN) as run, anyio.create_task_group() as group:
        group.start_soon(answered_live, run, seen)
        answer = await run.answer()

    assert ("achieved", NOTED) == (answer.outcome, answer.output)
    assert sorted(ANSWERS) == sorted(seen)
    assert ["book North", "look map", "look sky", "send Ann: it is fair"] == sorted(world.done)
    assert len(world.asked) == len(set(world.asked))
    assert "run_suspended" not in [fact.kind for fact in await facts(journal, answer.run_id)]


async def test_the_first_answer_counts() -> None:
    """Who answers to what has been answered is told so, and changes nothing."""
    journal, world = MemoryJournal(), World()
    answer = await world.orchestrator(journal).run(PLAN)
    (question,) = [waiting for waiting in answer.waiting if waiting.kind == "question"]
    await decide(journal, answer.run_id, question.id, "answer", text="North")
    with pytest.raises(UnknownWaiting):
        await decide(journal, answer.run_id, question.id, "answer", text="South")
    answer = await world.orchestrator(journal).resume(answer.run_id)

    assert 'book with {"harbour": "North"}' in [waiting.what for waiting in answer.waiting]


async def test_a_no_is_a_result() -> None:
    """A rejected call is an observation that the agent reads; a rejected step has failed, and its dependents are skipped."""
    journal, world = MemoryJournal(), World()
    answer = await world.orchestrator(journal).run(PLAN)
    while answer.outcome == "suspended":
        for waiting in answer.waiting:
            if waiting.kind == "question":
                await said(journal, answer.run_id, waiting)
            else:
                await decide(journal, answer.run_id, waiting.id, "reject", text="not today", by="Ada")
        answer = await world.orchestrator(journal).resume(answer.run_id)

    assert "missing" == answer.outcome
    found, agreed = answer.steps["find"], answer.steps["agree"]
    assert isinstance(found, Succeeded)
    assert "error: 'book' may not be called so: Ada said no: not today" == found.output
    assert isinstance(agreed, Failed)
    assert ("Rejected", "Ada said no: not today") == (agreed.error, agreed.message)
    assert {"tell": Skipped, "note": Skipped} == {name: type(answer.steps[name]) for name in ("tell", "note")}
    assert ["look map", "look sky"] == sorted(world.done)


async def cut(journal: MemoryJournal, run: str, length: int) -> MemoryJournal:
    """A journal that holds the first Facts only."""
    shorter = MemoryJournal()
    writer = await shorter.claim(run, holder="earlier", ttl=60)
    for recorded in (await journal.read(run))[:length]:
        await writer.append((recorded.event, recorded.time))
    await writer.release()
    return shorter


async def test_cut_after_every_fact() -> None:
    """Wherever a process dies, before or after a word of the user's: the same answer, and no effect happens unasked.

    An effect that was cut off in the middle is the one thing that is asked about.
    """
    whole = World()
    answer, journal, _ = await to_the_end(whole)
    length = len(await journal.read(answer.run_id))
    for place in range(1, length):
        shorter, world = await cut(journal, answer.run_id, place), World()
        doubted = []
        resumed = await world.orchestrator(shorter).resume(answer.run_id)
        while resumed.outcome == "suspended":
            for waiting in resumed.waiting:
                if waiting.kind == "in_doubt":
                    doubted.append(waiting.what)
                    happened = "North is booked" if waiting.what.startswith("book") else "told Ann"
                    await decide(shorter, answer.run_id, waiting.id, "happened", text=happened)
                else:
                    await said(shorter, answer.run_id, waiting)
            resumed = await world.orchestrator(shorter).resume(answer.run_id)

        known = (await facts(journal, answer.run_id))[:place]
        begun = [fact.tool for fact in known if isinstance(fact, ToolStarted)]
        ended = [fact.observation.name for fact in known if isinstance(fact, ToolEnded)]
        assert (answer.outcome, answer.output, list(answer.steps)) == (resumed.outcome, resumed.output, list(resumed.steps))
        assert [name for name in ("book", "send") if name in begun and name not in ended] == [
            what.partition(" ")[0] for what in doubted
        ]
        assert [name for name in ("book", "send") if name not in begun] == [
            what.partition(" ")[0] for what in sorted(world.done) if not what.startswith("look")
        ]
        replied = sum(fact.kind == "model_replied" for fact in known)
        assert len(whole.asked) - replied == len(world.asked)
        assert 5 == len({fact.result.step for fact in await facts(shorter, answer.run_id) if isinstance(fact, StepEnded)})


async def test_every_order_of_every_answer() -> None:
    """Three steps that ask at once can be answered in any order, in one life each, and each gets its own answer."""
    steps = [Step(id=name, task=f"ask {name}") for name in "abc"]
    plan = Plan(goal="g", steps=steps, output="${steps.c.output}")

    def reply(request: Request) -> Reply | str:
        last = request.messages[-1]
        return asks("ask_user", question=last.text.split("\n")[0]) if last.role == "user" else f"it is {last.text}"

    for order in permutations("abc"):
        journal, model = MemoryJournal(), ScriptedModel(reply)
        answer = await Orchestrator(model, tools=[ask_user], journal=journal, ports=ports()).run(plan)
        assert ["a", "b", "c"] == [waiting.step for waiting in answer.waiting]
        ids = {waiting.step: waiting.id for waiting in answer.waiting}
        for name in order:
            await decide(journal, answer.run_id, ids[name], "answer", text=name.upper())
            answer = await Orchestrator(model, tools=[ask_user], journal=journal, ports=ports()).resume(answer.run_id)

        assert {name: f"it is {name.upper()}" for name in "abc"} == {
            name: getattr(result, "output", None) for name, result in answer.steps.items()
        }
        assert 6 == len(model.requests)


async def test_nobody_judges_a_run_that_waits() -> None:
    """What failed beside it does not hide what waits, nothing is judged or revised before the answer, and then it is."""
    journal = MemoryJournal()

    def step(request: Request) -> Reply | str | Unreachable:
        last = request.messages[-1]
        if task(request) == "b":
            return Unreachable("the model", "down")
        return asks("ask_user", question=f"{task(request)}?") if last.role == "user" else f"{task(request)}: {last.text}"

    def orchestrator(**more: Part) -> Orchestrator:
        model = played(step=step, **more)
        return Orchestrator(model, tools=[ask_user], journal=journal, ports=ports())

    answer = await orchestrator(plan=[planned("a", "b")]).run("goal")
    assert ("suspended", ["b"], None) == (answer.outcome, list(answer.steps), answer.verdict)
    (waiting,) = answer.waiting
    await decide(journal, answer.run_id, waiting.id, "answer", text="yes")
    answer = await orchestrator(verdict=[judged(False, missing=["c"])], plan=[planned("c")]).resume(answer.run_id)
    assert ("suspended", ["a"]) == (answer.outcome, list(answer.steps))
    (waiting,) = answer.waiting
    await decide(journal, answer.run_id, waiting.id, "answer", text="no")
    answer = await orchestrator(verdict=[judged(True)], synthesis=["all of it"]).resume(answer.run_id)

    assert ("achieved", "all of it") == (answer.outcome, answer.output)
    assert {"a": "a: yes", "c": "c: no"} == {name: getattr(result, "output", None) for name, result in answer.steps.items()}


class Broken(Hook):
    """A policy that breaks at one tool."""

    async def before_tool(self, wanted: ToolCall, call: Call) -> ToolCall:
        if wanted.name == "book":
            raise ValueError("out of order")
        return wanted


async def test_a_broken_policy_denies_whatever_a_person_says() -> None:
    """It fails closed: nobody is asked about a call that it does not let through."""
    journal, world = MemoryJournal(), World()
    orchestrator = world.orchestrator(journal)
    guarded = Orchestrator(orchestrator.models, tools=orchestrator.tools, hooks=[Broken()], journal=journal, ports=ports())
    answer = await guarded.run(PLAN)
    while answer.outcome == "suspended":
        assert not any("book" in waiting.what for waiting in answer.waiting)
        for waiting in answer.waiting:
            await decide(journal, answer.run_id, waiting.id, "answer" if waiting.kind == "question" else "approve", text="x")
        answer = await guarded.resume(answer.run_id)

    assert "out of order" in getattr(answer.steps["find"], "output", "")
    assert not any(what.startswith("book") for what in world.done)
