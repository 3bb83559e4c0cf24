"""Public faults of kind C, plans and what is done with them: each case stands for its kind.

A case that has `deviates` goes by this engine's own rules in that point, for the reason that stands there.
"""

import json
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import anyio
import pytest
from _pytest.mark import ParameterSet

from orchestrator import MemoryJournal, Orchestrator, Run
from orchestrator.answering import decide
from orchestrator.errors import RunCancelled
from orchestrator.events.facts import CancelRequested, ModelReplied, PlanReady, PlanRejected, RunStarted, StepEnded
from orchestrator.events.glimpses import StepAdmitted, StepQueued
from orchestrator.events.recorded import Event
from orchestrator.journal.protocol import WORD
from orchestrator.unwrapping import sole_error
from planner import Draft, MapStep, Plan, PlanError, PlanStep, Step, ToolStep, draft_from
from planner.results import Failed, Skipped, Succeeded
from registry.builtin import ask_user
from registry.calls import Call
from registry.errors import Unreachable
from registry.governor.governor import GovernedModel, Governor
from registry.messages import Json, Piece, Reply, Request
from registry.models.layer import ModelLayer
from registry.models.model import Model
from registry.testing import Line, ScriptedModel, asks
from registry.tools.function import tool
from tests.orchestrator.parts import judged, planned, played, task

pytestmark = pytest.mark.anyio

Case = Mapping[str, Json]

CASES: Mapping[str, Case] = {
    case["id"]: case for case in map(json.loads, (Path(__file__).parent / "data" / "kind_c.jsonl").read_text().splitlines())
}

LATER: Mapping[str, str] = {}
"""Cases that wait for a part of the engine, and for which."""

_asserted: set[str] = set()


def case(case_id: str) -> pytest.MarkDecorator:
    """The test of one case, under its name: the case says what went in and what is right."""
    _asserted.add(case_id)
    return pytest.mark.parametrize("case", [pytest.param(CASES[case_id], id=case_id)])


def test_every_case_is_asserted_or_waits() -> None:
    """No case is forgotten, and none both waits and is asserted."""
    assert CASES.keys() == _asserted | LATER.keys()
    assert not _asserted & LATER.keys()


def submitted(case: Case, **fields: Json) -> Plan:
    """The plan of the case, as a person would submit it. Raises `PlanError`."""
    return Plan.of(draft_from({"goal": "g", "steps": case["input"]["plan"], **fields}))


def refused(case_id: str, *found: tuple[str, str, str]) -> ParameterSet:
    """A case whose plan is refused: code, place and words of each finding."""
    _asserted.add(case_id)
    return pytest.param(CASES[case_id], found, id=case_id)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        refused("C01", ("P006", "/steps/0/depends_on", "each waits for the next: a -> b -> a")),
        refused("C03", ("P004", "/steps/0/depends_on/0", "step 's9' depends on itself")),
        refused("C04", ("P005", "/steps/1/depends_on/0", "no step named 'no-such'; there are: a, b")),
        refused("C06", ("P003", "/steps/1/id", "the id 'a' is that of /steps/0 already")),
        refused("C09", ("P005", "/steps/1/depends_on/0", "no step named 't01'; did you mean 't1'? there are: t1, t2")),
        refused(
            "C12",
            ("P012", "/steps/0", "an object is due, not nothing"),
            ("P012", "/steps/1", "an object is due, not the text 'do x'"),
        ),
    ],
)
def test_refused_before_any_step_runs(case: Case, expected: tuple[tuple[str, str, str], ...]) -> None:
    """Such a plan can't even be built, and the error says what is wrong, where, and what there is."""
    with pytest.raises(PlanError) as raised:
        submitted(case)

    assert expected == tuple((one.code, one.place, one.message) for one in raised.value.diagnostics)


@case("C08")
def test_ids_are_text_on_both_sides(case: Case) -> None:
    """1 and "1" are one id: as a dependency, and as a step that is there twice."""
    assert [("1", ()), ("2", ("1",))] == [(step.id, tuple(step.depends_on)) for step in submitted(case).steps]
    twice = [*case["input"]["plan"], {"id": "1", "task": "z"}]
    with pytest.raises(PlanError, match="the id '1' is that of /steps/0 already"):
        Plan.of(draft_from({"goal": "g", "steps": twice}))


@case("C10")
def test_one_dependency_may_be_written_as_text(case: Case) -> None:
    """It is one id, and not as many as it has letters."""
    assert ("prep",) == submitted(case).step("b").depends_on


def failing(*names: str, seconds: Mapping[str, float] | None = None) -> Model:
    """A model with which some steps fail, and that needs some seconds for some steps."""

    def reply(request: Request) -> Line:
        step = task(request).removeprefix("do ")
        return Unreachable("the model", "down") if step in names else f"{step} is done"

    lines = ScriptedModel(reply)
    return lines if seconds is None else Slow(lines, seconds)


class Slow(ModelLayer):
    """A model that needs some seconds for some steps."""

    def __init__(self, inner: Model, seconds: Mapping[str, float]) -> None:
        super().__init__(inner)
        self.seconds = seconds

    async def chat(self, request: Request, call: Call) -> Reply:
        await anyio.sleep(self.seconds.get(call.label, 0.0))
        return await self._inner.chat(request, call)

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        yield await self.chat(request, call)


@case("C17")
async def test_what_depends_on_a_failure_does_not_run(case: Case) -> None:
    """It is skipped, the cause is named, and the run has not met its goal."""
    model = failing("a")
    answer = await Orchestrator(model).run(submitted(case, output="${steps.b.output}"))

    assert isinstance(answer.steps["a"], Failed)
    assert Skipped(step="b", because_of="a", reason="a failed") == answer.steps["b"]
    assert "missing" == answer.outcome


@case("C22")
async def test_a_failure_loses_no_sibling(case: Case) -> None:
    """Those that are quicker and those that are slower keep their results."""
    answer = await Orchestrator(failing("q", seconds={"q": 0.05, "r": 0.1})).run(submitted(case, output="${steps.r.output}"))

    assert {"p": Succeeded, "q": Failed, "r": Succeeded} == {name: type(result) for name, result in answer.steps.items()}
    assert "r is done" == answer.output


@case("C20")
async def test_a_diamond_with_unequal_arms(case: Case) -> None:
    """The step where they meet runs once, with what both found."""
    model = ScriptedModel(lambda request: f"{task(request)[3:]} is done")
    await Orchestrator(model).run(submitted(case, output="${steps.d.output}"))
    (met,) = [request.messages[1].text for request in model.requests if task(request) == "do d"]

    assert 5 == len(model.requests)
    assert "Result of b2:\nb2 is done" in met
    assert "Result of c:\nc is done" in met


@case("C30")
@pytest.mark.parametrize("seconds", [{"s1": 2.0, "s2": 1.0}, {"s1": 1.0, "s2": 2.0}], ids=["slow first", "fast first"])
async def test_inputs_stand_in_the_order_of_the_plan(case: Case, seconds: Mapping[str, float]) -> None:
    """Whichever was done first, the request is the same to the letter."""
    model = ScriptedModel(lambda request: f"{task(request)[3:]} is done")
    await Orchestrator(Slow(model, seconds)).run(submitted(case, output="${steps.s3.output}"))

    assert model.requests[-1].messages[1].text.endswith("Result of s1:\ns1 is done\n\nResult of s2:\ns2 is done")


@case("C26")
async def test_steps_that_only_wait_hold_nothing(case: Case) -> None:
    """Four slots do 400 steps in the time of a hundred, though all that must wait come first in the plan."""
    steps = sorted(case["input"]["plan"], key=lambda step: step["id"][0], reverse=True)
    plan = Plan(goal="g", steps=[Step(**step) for step in steps], output="${steps.g0.output}")
    assert "g" == plan.steps[0].id[0]
    model = failing(seconds={step.id: 1.0 for step in plan.steps})
    began = anyio.current_time()
    answer = await Orchestrator(GovernedModel(model, Governor("here", case["input"]["max_concurrency"]))).run(plan)

    assert {Succeeded} == {type(result) for result in answer.steps.values()}
    assert 400 == len(answer.steps)
    assert 100.0 == pytest.approx(anyio.current_time() - began, abs=1.0)


@case("C27")
async def test_steps_wait_for_a_slot_and_say_so_once(case: Case) -> None:
    """The planner gives back the only slot before the steps begin. The one that waits says so once, and then that it need not."""
    assert "two steps are ready" in case["input"]["behaviour"]
    part = {"plan": [planned("x", "y")], "verdict": [judged(True)], "synthesis": ["the end"]}
    lines = played(step=lambda request: f"{task(request)} is done", **part)
    governor = Governor("here", case["input"]["max_concurrency"])
    orchestrator = Orchestrator(GovernedModel(Slow(lines, {"x": 60.0, "y": 60.0}), governor))
    async with orchestrator.open("g") as run:
        events = [recorded.event async for recorded in run.events]

    waits = [event for event in events if isinstance(event, StepQueued | StepAdmitted)]
    assert [StepQueued, StepAdmitted] == [type(event) for event in waits]
    assert [("y", 60)] == [(event.step, round(event.waited)) for event in waits if isinstance(event, StepAdmitted)]
    assert (1, 0) == (governor.free, governor.waiting)


def asking(request: Request) -> Line:
    """A model of which each step asks the user what it is to do, but for one that is out of order."""
    if task(request) == "do z":
        return Unreachable("the model", "down")
    last = request.messages[-1]
    return asks("ask_user", question=f"How to {task(request)}?") if last.role == "user" else f"{task(request)}: {last.text}"


@case("C31")
@pytest.mark.parametrize("first", ["x", "y"])
async def test_two_steps_ask_at_once(case: Case, first: str) -> None:
    """Both questions stay open, in plan order, whatever else fails; each answer goes to its own, and so does a later one."""
    assert {"x": "asks the user", "y": "asks the user", "z": "fails"} == case["input"]["behaviour"]
    plan = Plan.model_validate({"goal": "g", "steps": case["input"]["plan"], "output": "${steps.x.output}"})
    journal, model = MemoryJournal(), ScriptedModel(asking)

    def orchestrator() -> Orchestrator:
        return Orchestrator(model, tools=[ask_user], journal=journal)

    answer = await orchestrator().run(plan)
    assert ["How to do x?", "How to do y?"] == [waiting.what for waiting in answer.waiting]
    assert ["z"] == list(answer.steps)
    assert isinstance(answer.steps["z"], Failed)

    questions = {waiting.step: waiting for waiting in answer.waiting}
    second = "y" if first == "x" else "x"
    await decide(journal, answer.run_id, questions[first].id, "answer", text="gently")
    answer = await orchestrator().resume(answer.run_id)
    assert (questions[second],) == answer.waiting
    await decide(journal, answer.run_id, questions[second].id, "answer", text="quickly")
    answer = await orchestrator().resume(answer.run_id)

    assert {first: f"do {first}: gently", second: f"do {second}: quickly"} == {
        name: result.output for name, result in answer.steps.items() if isinstance(result, Succeeded)
    }
    assert 5 == len(model.requests)


def of_step(fact: Event) -> str:
    """The step that a Fact is about, if it is about one."""
    return fact.result.step if isinstance(fact, StepEnded) else getattr(fact, "step", "")


@case("C36")
@pytest.mark.parametrize("killed_after", [0, 1, 2, 3])
async def test_restarted_in_the_middle_of_a_fan_out(case: Case, killed_after: int) -> None:
    """What was done is read back, what was not is done, and the step that uses it gets all of it in order."""
    each, use = case["input"]["plan"]
    steps = [
        MapStep(id=each["id"], over=each["for_each"], step=Step(id="one", task=f"{each['task']} ${{item}}")),
        Step(id=use["id"], task=f"{use['task']}: ${{steps.each.data}}"),
    ]
    plan = Plan(goal="g", steps=steps, output="${steps.use.output}")

    def result(request: Request) -> str:
        return task(request) if task(request).startswith("do use") else f"r{task(request)[-1]}"

    whole, killed = MemoryJournal(), MemoryJournal()
    run_id = (await Orchestrator(ScriptedModel(result), journal=whole).run(plan)).run_id
    kept = {"each", *(f"each[{place}]" for place in range(killed_after))}
    writer = await killed.claim(run_id, holder="the killed one", ttl=60)
    for recorded in await whole.read(run_id):
        ended = isinstance(recorded.event, StepEnded) and of_step(recorded.event) == "each"
        if isinstance(recorded.event, RunStarted | PlanReady) or (of_step(recorded.event) in kept and not ended):
            await writer.append((recorded.event, recorded.time))
    await writer.release()
    model = ScriptedModel(result)
    answer = await Orchestrator(model, journal=killed).resume(run_id)

    assert ("achieved", 'do use: ["r1","r2","r3"]') == (answer.outcome, answer.output)
    undone = [f"do each {item}" for item in each["for_each"][killed_after:]]
    assert [*undone, 'do use: ["r1","r2","r3"]'] == [task(request) for request in model.requests]


@case("C32")
@pytest.mark.parametrize("how", ["raises", "is cancelled"])
async def test_planning_that_never_ends(case: Case, how: str) -> None:
    """However planning is cut short, the journal says at once that the run was, and so do its events."""
    assert f"planner {'raises RuntimeError' if how == 'raises' else 'task is cancelled'}" in case["input"]["behaviour"]
    journal = MemoryJournal()

    class Broken(ModelLayer):
        async def chat(self, request: Request, call: Call) -> Reply:
            if how == "raises":
                raise RuntimeError("no plan today")
            await anyio.sleep(3600)
            raise AssertionError

        def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
            raise AssertionError

    heard: list[Event] = []

    async def follow() -> None:
        opened = Orchestrator(Broken(ScriptedModel([])), journal=journal).open("the goal")
        with sole_error():
            async with anyio.create_task_group() as group, opened as run:
                group.start_soon(listen, run)
                await run.answer()

    async def listen(run: Run) -> None:
        with anyio.CancelScope(shield=True):
            heard.extend([recorded.event async for recorded in run.events])

    with pytest.raises(RuntimeError, match="no plan today") if how == "raises" else anyio.move_on_after(1):
        await follow()
    (run,) = await journal.runs()

    assert "run_interrupted" == (await journal.read(run.run))[-1].event.kind == heard[-1].kind
    assert "" == run.holder


@case("C33")
async def test_a_stop_wins_over_a_revision_that_is_owed(case: Case) -> None:
    """A run that was asked to end is resumed just before its revision: no model and no tool is called after that."""
    assert "re-plan owed" in case["input"]["state"]
    journal = MemoryJournal()
    missed = judged(False, missing=["more"])
    model = played(plan=[planned("x"), planned("y")], step=["found x"] * 2, verdict=[missed] * 2, synthesis=["no"])
    async with Orchestrator(model, journal=journal).open("the goal") as run:
        async for recorded in run.events:
            if recorded.event.kind == "verdict_reached":
                break
    writer = await journal.claim(run.id, holder="somebody", ttl=60, scope=WORD)
    await writer.append((CancelRequested(), 1.0))
    before = await journal.read(run.id)

    with ScriptedModel([]) as nobody, pytest.raises(RunCancelled):
        await Orchestrator(nobody, journal=journal).resume(run.id)

    after = [recorded.event.kind for recorded in (await journal.read(run.id))[len(before) :]]
    assert ["run_ended"] == after


@case("C13")
async def test_an_empty_plan(case: Case) -> None:
    """It is asked for once more, and then there is none. In a revision it ends the run, which names its first failure."""
    first, _ = case["input"]["plans"]
    assert [] == first
    with played(plan=[asks("plan", steps=[]), asks("plan", steps=[])]) as model, pytest.raises(PlanError) as raised:
        await Orchestrator(model).run("the goal")
    assert ["P001"] == [found.code for found in raised.value.diagnostics]

    def failing_at_a(request: Request) -> Line:
        return Unreachable("the model", "down") if task(request) == "a" else "b is done"

    journal = MemoryJournal()
    plans = [planned("a", "b"), asks("plan", steps=[]), asks("plan", steps=[])]
    answer = await Orchestrator(
        played(plan=plans, step=failing_at_a, verdict=[judged(False, missing=["the rest"])], synthesis=["no more than b"]),
        journal=journal,
    ).run("the goal")

    assert "missing" == answer.outcome
    assert ("a failed: the model can't be reached: down", "the rest") == answer.verdict.missing
    assert 1 == len([each for each in await journal.read(answer.run_id) if isinstance(each.event, PlanRejected)])


@case("C15")
async def test_a_step_that_is_split(case: Case) -> None:
    """What waited for the step waits for all that took its place, and the revision says so; the draft is in the journal."""
    c3, c4 = case["input"]["plan"]
    parts = ["c3-1", "c3-2"]
    assert all(part in case["input"]["edit"] for part in parts)
    draft = [*({"id": part, "task": f"do {part}", "depends_on": []} for part in parts), {**c4, "task": "do c4 at last"}]

    def failing_at_c3(request: Request) -> Line:
        return Unreachable("the model", "down") if task(request) == "do c3" else f"{task(request)}: done"

    journal = MemoryJournal()
    plans = [asks("plan", steps=[c3, c4]), asks("plan", steps=draft)]
    model = played(plan=plans, step=failing_at_c3, verdict=[judged(True)], synthesis=["there"])
    answer = await Orchestrator(model, journal=journal).run("the goal")

    assert ("achieved", tuple(parts)) == (answer.outcome, answer.plan.step("c4").depends_on)
    facts = [each.event for each in await journal.read(answer.run_id)]
    revised = [fact for fact in facts if isinstance(fact, PlanReady)][1]
    assert "no step named 'c3': there is c3-1, c3-2: it waits for all of these" in [each.message for each in revised.diagnostics]
    asked = [place for place, fact in enumerate(facts) if isinstance(fact, ModelReplied) and fact.purpose == "plan"]
    assert asked[1] < facts.index(revised)


@case("C19")
@pytest.mark.parametrize("route", [True, False])
async def test_a_join_after_a_branch_that_was_not_taken(case: Case, route: bool) -> None:
    """One of its parents was done: that is enough. What was not done is listed, and the goal is met."""
    conditions = {"route": "${inputs.route}", "not route": "not ${inputs.route}"}
    steps = [{**step, **({"when": conditions[step["when"]]} if "when" in step else {})} for step in case["input"]["plan"]]
    plan = Plan.of(
        draft_from({"goal": "g", "inputs": {"route": {"type": "boolean"}}, "steps": steps, "output": "${steps.D.output}"})
    )
    answer = await Orchestrator(failing()).run(plan, inputs={"route": route})
    taken, other = ("A", "B") if route else ("B", "A")

    assert {taken: Succeeded, other: Skipped, "C": Succeeded, "D": Succeeded} == {
        name: type(end) for name, end in answer.steps.items()
    }
    assert ("achieved", "D is done") == (answer.outcome, answer.output)


@case("C24")
async def test_parents_wait_without_a_slot(case: Case) -> None:
    """As many plans inside the plan as there are slots, and their steps get them all the same."""
    steps = [
        PlanStep(
            id=step["id"],
            plan=Draft(goal=step["task"], steps=[Step(id=f"c{n}", task=f"do c{n}") for n in range(step["children"])]),
        )
        for step in case["input"]["plan"]
    ]
    governor = Governor("here", case["input"]["max_concurrency"])
    model = Slow(ScriptedModel(task), {f"p{p}/c{c}": 1.0 for p in (1, 2, 3) for c in (0, 1)})
    began = anyio.current_time()
    answer = await Orchestrator(GovernedModel(model, governor)).run(Plan(goal="g", steps=[*steps, Step(id="end", task="end")]))

    assert {Succeeded} == {type(end) for end in answer.steps.values()}
    assert 2.0 == pytest.approx(anyio.current_time() - began, abs=0.5)


@case("C28")
@pytest.mark.parametrize("slow", ["f1", "f2", "f3"])
async def test_long_results_share_the_room(case: Case, slow: str) -> None:
    """What is short is there in full, what is long has equal shares with marked cuts, and a tool reads all of it.

    So it is where no model tells it in short.
    """
    sizes = {name: int(said.split()[0]) for name, said in case["input"]["behaviour"].items()}
    characters = case["input"]["budget_chars"]

    @tool(effect="pure", trusted=True)
    async def fetch(name: str) -> str:
        """Fetch something long."""
        await anyio.sleep(name == slow)
        return name[-1] * sizes[name]

    def line(request: Request) -> Line:
        seen = [message.text for message in request.messages if message.role == "tool"]
        return seen[0] if seen else asks("read_step", step="f3", offset=sizes["f3"] - 10)

    *fetches, rank = case["input"]["plan"]
    steps = [ToolStep(id=each["id"], tool="fetch", args={"name": each["id"]}) for each in fetches]
    model = ScriptedModel(line, context_window=2 * characters // 3)
    away = ScriptedModel(lambda _: Unreachable("away", "down"), name="away")
    plan = Plan(goal="g", steps=[*steps, Step(**rank, tools=())], output="${steps.rank.output}")
    answer = await Orchestrator({"general": model, "compaction": away}, tools=[fetch]).run(plan)

    asked = model.requests[0].messages[1].text
    shown = dict(part.split(":\n", 1) for part in asked.split("Result of ")[1:])
    assert "1" * 400 == shown["f1"].strip()
    assert characters >= sum(map(len, shown.values()))
    assert 40 >= abs(len(shown["f2"]) - len(shown["f3"]))
    assert all("characters cut" in shown[name] for name in ("f2", "f3"))
    assert answer.output.startswith("3" * 10 + "\n[characters 179990 to 180000 of 180000, the end]")


@case("C34")
@pytest.mark.parametrize("items", [[], ["a", "b"]], ids=["nothing", "all skipped"])
async def test_nothing_is_left_of_a_map(case: Case, items: list[str]) -> None:
    """That is a list too, the empty one, and what depends on it is done."""
    listed, each, total = case["input"]["plan"]
    steps = [
        ToolStep(id=listed["id"], tool="give", args={"value": items}),
        MapStep(id=each["id"], over="${steps.list.data}", step=Step(id="one", task="${item}", when="${item} == 'c'")),
        Step(id=total["id"], task="do sum of ${steps.each.data}"),
    ]

    @tool(effect="pure")
    async def give(value: list[str]) -> list[str]:
        """Give back what is given."""
        return value

    answer = await Orchestrator(failing(), tools=[give]).run(Plan(goal="g", steps=steps, output="${steps.sum.output}"))

    assert ("achieved", "sum of [] is done") == (answer.outcome, answer.output)


@case("C37")
def test_a_reference_to_nothing(case: Case) -> None:
    """It is refused when the plan is built, and never stays in the text."""
    first, second = case["input"]["plan"]
    query = second["args"]["q"].replace("$1", "${steps.1.output}").replace("$7", "${steps.7.output}")
    steps = [first, {**second, "kind": "tool", "tool": "search", "args": {"q": query}}]
    with pytest.raises(PlanError) as raised:
        Plan.of(draft_from({"goal": "g", "steps": steps}))

    assert [("P010", "/steps/1/args/q", "${steps.7.output} names no step; there are: 1, 2")] == [
        (found.code, found.place, found.message) for found in raised.value.diagnostics
    ]
