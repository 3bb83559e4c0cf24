"""Plan, walk, judge, perhaps revise, write: what a run does when each part goes wrong."""

from typing import Any

import pytest

from orchestrator import MemoryJournal, Orchestrator
from orchestrator.accepted import Accepted
from orchestrator.errors import DeniedByHook, UnknownRun
from orchestrator.events.facts import PlanReady, RunEnded
from orchestrator.hooks import Hook
from orchestrator.limits import Limits
from orchestrator.run import Answer, Run
from orchestrator.state import RunState
from planner import Input, Plan, PlanError, Step, ToolStep
from planner.results import Achieved, Failed, Missing, Skipped, StepResult, Succeeded
from registry.errors import Unreachable
from registry.messages import Request
from registry.models.model import Model
from registry.testing import Line, ScriptedModel, asks
from registry.tools.function import tool
from tests.orchestrator.parts import judged, part_of, plan_of, planned, played, task
from tests.scenario import journal_of, ports

pytestmark = pytest.mark.anyio

DOWN = Unreachable("m", "down")


@tool(effect="pure")
async def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


def orchestrator(model: Model, *hooks: Hook, journal: MemoryJournal | None = None, limits: Limits | None = None) -> Orchestrator:
    return Orchestrator(model, tools=[shout], hooks=hooks, journal=journal, limits=limits, ports=ports())


async def kinds(journal: MemoryJournal, run: str = "run1") -> list[str]:
    return [recorded.event.kind for recorded in await journal.read(run)]


async def end(journal: MemoryJournal, run: str = "run1") -> RunEnded:
    """How the journal says that the run ended: the last Fact, and the only one of its kind since the last life."""
    (*_, last) = await journal.read(run)
    assert isinstance(last.event, RunEnded)
    return last.event


async def test_a_goal_that_is_met_at_once() -> None:
    """One plan, its steps, one verdict, one answer; the end says it all again."""
    journal = MemoryJournal()
    model = played(plan=[planned("x")], step=["found x"], verdict=[judged(True)], synthesis=["It is x."])
    answer = await orchestrator(model, journal=journal).run("the goal")

    assert ("achieved", "It is x.") == (answer.outcome, answer.output)
    assert isinstance(answer.verdict, Achieved)
    assert "found x" == getattr(answer.steps["x"], "output", None)
    ended = await end(journal)
    assert ("achieved", "", "It is x.", answer.summary) == (ended.outcome, ended.error, ended.answer, ended.summary)
    assert (4, 1, answer.usage) == (answer.usage.requests, answer.summary.iterations, answer.summary.usage)


async def test_no_plan_is_a_failed_run() -> None:
    """A planner that never gives a usable plan ends the run: the error is raised, and written as its end."""
    journal = MemoryJournal()
    nonsense = asks("plan", steps=[])
    with pytest.raises(PlanError) as raised:
        await orchestrator(played(plan=lambda request: nonsense), journal=journal).run("the goal")

    ended = await end(journal)
    assert ("failed", str(raised.value), "") == (ended.outcome, ended.error, ended.answer)
    assert 0 < ended.summary.usage.requests
    assert "step_started" not in await kinds(journal)


async def test_a_blank_goal_is_refused_before_anything_is_paid() -> None:
    """There is nothing to plan."""
    with ScriptedModel([]) as model, pytest.raises(PlanError, match="P013"):
        await orchestrator(model).run("  ")


PARTS = pytest.mark.parametrize(
    ("part", "outcome"),
    [
        pytest.param("plan", "failed", id="no planner"),
        pytest.param("verdict", "failed", id="no judge"),
        pytest.param("step", "missing", id="no agent"),
        pytest.param("synthesis", "achieved", id="no writer"),
    ],
)


def broken(part: str) -> ScriptedModel:
    """A model of which one part can't be reached."""
    well = {"plan": planned("x"), "step": "found x", "verdict": judged(True, final_answer="X."), "synthesis": "It is x."}
    return ScriptedModel(lambda request: DOWN if part_of(request) == part else well[part_of(request)])


@PARTS
async def test_an_outage(part: str, outcome: str) -> None:
    """Without planner or judge there is no run; a step fails alone; an answer is found without its writer."""
    journal = MemoryJournal()
    running = orchestrator(broken(part), journal=journal, limits=Limits(rounds=1))
    if outcome == "failed":
        with pytest.raises(Unreachable, match="down"):
            await running.run("the goal")
    else:
        answer = await running.run("the goal")
        assert outcome == answer.outcome
        assert answer.output.strip()

    ended = await end(journal)
    assert outcome == ended.outcome
    assert (outcome == "failed") == bool(ended.error)


@pytest.mark.parametrize("part", ["plan", "verdict"])
async def test_a_failed_run_may_be_resumed_and_end_well(part: str) -> None:
    """When the outage is over the run goes on where it broke off, pays for nothing twice, and has a new end."""
    journal = MemoryJournal()
    with pytest.raises(Unreachable):
        await orchestrator(broken(part), journal=journal).run("the goal")
    paid = (await kinds(journal)).count("model_replied")

    well = broken("nobody")
    answer = await orchestrator(well, journal=journal).resume("run1")

    assert ("achieved", "It is x.") == (answer.outcome, answer.output)
    assert 4 - paid == len(well.requests)
    ended = await end(journal)
    assert ("achieved", "") == (ended.outcome, ended.error)
    told = await kinds(journal)
    assert [2, 1, 1] == [told.count(kind) for kind in ("run_ended", "plan_ready", "run_started")]


async def test_a_run_that_ended_well_is_over() -> None:
    """Resuming it gives the same answer, asks nobody and writes nothing."""
    journal = MemoryJournal()
    first = await orchestrator(broken("nobody"), journal=journal).run("the goal")
    facts = await journal.read("run1")
    with ScriptedModel([]) as nobody:
        again = await orchestrator(nobody, journal=journal).resume("run1")

    assert (first.output, first.outcome, first.steps, first.usage) == (again.output, again.outcome, again.steps, again.usage)
    assert facts == await journal.read("run1")


async def test_a_verdict_of_missing_in_the_last_round() -> None:
    """The rounds are used up: the answer is written from what exists, told what is missing, and is no success."""
    asked: list[Request] = []

    def write(request: Request) -> str:
        asked.append(request)
        return "Half of it."

    model = played(
        plan=[planned("a"), planned("b"), planned("c")],
        step=task,
        verdict=lambda request: judged(False, missing=["the other half"]),
        synthesis=write,
    )
    journal = MemoryJournal()
    answer = await orchestrator(model, journal=journal).run("the goal")

    assert ("missing", "Half of it.") == (answer.outcome, answer.output)
    assert Missing(reasoning="so it is", missing=("the other half",), confidence=0.9) == answer.verdict
    assert "- the other half" in asked[0].messages[-1].text
    assert 3 == (await kinds(journal)).count("plan_ready") == (await kinds(journal)).count("verdict_reached")
    assert ["a", "b", "c"] == list(answer.steps)
    assert ("missing", "Half of it.") == ((await end(journal)).outcome, (await end(journal)).answer)


async def test_no_revision_is_no_end() -> None:
    """When the planner adds nothing usable the answer is made from what there is."""
    useless = asks("plan", steps=[])
    lines = iter([planned("a")])
    model = played(
        plan=lambda request: next(lines, useless),
        step=["found a"],
        verdict=[judged(False, missing=["b"])],
        synthesis=["Only a."],
    )
    answer = await orchestrator(model).run("the goal")

    assert ("missing", "Only a.", ["a"]) == (answer.outcome, answer.output, list(answer.steps))


async def test_an_outage_while_revising_is_an_outage() -> None:
    """A planner that can't be reached is not one that has no plan: the run fails, and can be resumed."""
    journal = MemoryJournal()
    parts = {"step": lambda request: "found", "verdict": [judged(False), judged(True)], "synthesis": ["All."]}
    with pytest.raises(Unreachable):
        await orchestrator(played(plan=[planned("a"), DOWN], **parts), journal=journal).run("the goal")

    later = played(plan=[planned("b")], step=["found b"], verdict=[judged(True)], synthesis=["All."])
    answer = await orchestrator(later, journal=journal).resume("run1")

    assert ("achieved", ["a", "b"]) == (answer.outcome, list(answer.steps))


async def test_a_step_that_succeeded_is_not_done_again() -> None:
    """A revision keeps what succeeded and reuses it; a step that failed may be tried again, and is asked anew."""
    tried: list[str] = []

    def work(request: Request) -> str | Unreachable:
        tried.append(task(request))
        return DOWN if tried.count("b") == 1 and task(request) == "b" else f"found {task(request)}"

    model = played(
        plan=[planned("a", "b"), planned("b", c="a")],
        step=work,
        verdict=[judged(False, missing=["b"]), judged(True)],
        synthesis=["All."],
    )
    journal = MemoryJournal()
    answer = await orchestrator(model, journal=journal).run("the goal")

    assert "achieved" == answer.outcome
    assert all(isinstance(result, Succeeded) for result in answer.steps.values())
    assert [1, 2, 1] == [tried.count(name) for name in "abc"]
    revised = [recorded.event for recorded in await journal.read("run1") if isinstance(recorded.event, PlanReady)][1]
    assert (("c",), ("a", "b")) == (revised.diff["added"], revised.diff["kept"])


# Submitted plans


@pytest.mark.parametrize(
    ("plan", "inputs", "code"),
    [
        pytest.param(plan_of(Step(id="a", task="x", tools=("nope",))), {}, "P008", id="unknown tool"),
        pytest.param(plan_of(Step(id="a", task="x", model_hint="nope")), {}, "P009", id="unknown model"),
        pytest.param(Plan(goal="g", steps=(Step(id="a", task="x"),), inputs={"city": Input()}), {}, "P011", id="missing input"),
        pytest.param(plan_of(Step(id="a", task="x")), {"city": "x"}, "P015", id="input of no use"),
    ],
)
async def test_a_submitted_plan_is_checked_before_anything_runs(plan: Plan, inputs: dict[str, str], code: str) -> None:
    """What it asks for and the run does not have is refused, with its code; nothing was paid, and the end is written."""
    journal = MemoryJournal()
    with ScriptedModel([]) as model, pytest.raises(PlanError, match=code):
        await orchestrator(model, journal=journal).run(plan, inputs=inputs)

    assert ["run_started", "run_ended"] == await kinds(journal)
    assert "failed" == (await end(journal)).outcome


async def test_a_submitted_plan_is_judged_by_its_steps() -> None:
    """Nobody plans and nobody judges: the steps alone say whether it was done."""
    plan = plan_of(Step(id="a", task="x"), ToolStep(id="b", tool="shout", args={"text": "${steps.a.output}"}))
    answer = await orchestrator(played(step=["hello"], synthesis=["Said."])).run(plan)

    assert ("achieved", "Said.") == (answer.outcome, answer.output)
    assert "HELLO" == getattr(answer.steps["b"], "output", None)


async def test_a_submitted_plan_without_models_needs_none() -> None:
    """Tool steps and a named output: the whole run makes no model call."""
    plan = plan_of(ToolStep(id="a", tool="shout", args={"text": "hello"}), output="${steps.a.output}")
    with ScriptedModel([]) as model:
        answer = await orchestrator(model).run(plan)

    assert ("achieved", "HELLO", 0) == (answer.outcome, answer.output, answer.usage.requests)


async def test_a_submitted_plan_that_fails_is_answered_from_what_exists() -> None:
    """It is not revised; the answer is told which steps did not succeed."""
    asked: list[Request] = []

    def write(request: Request) -> str:
        asked.append(request)
        return "Half."

    model = played(step=lambda request: DOWN if task(request) == "bad" else "fine", synthesis=write)
    answer = await orchestrator(model).run(plan_of(Step(id="a", task="good"), Step(id="b", task="bad")))

    assert ("missing", "Half.") == (answer.outcome, answer.output)
    assert isinstance(answer.steps["b"], Failed)
    assert "- b failed: m can't be reached: down" in asked[0].messages[-1].text


async def test_a_submitted_plan_is_revised_where_its_submitter_asks() -> None:
    """With `submitted_rounds` a judge is asked and the planner may add steps."""
    model = played(plan=[planned("b")], step=lambda request: "found", verdict=[judged(False), judged(True)], synthesis=["All."])
    answer = await orchestrator(model, limits=Limits(submitted_rounds=2)).run(plan_of(Step(id="a", task="x")))

    assert ("achieved", ["a", "b"]) == (answer.outcome, list(answer.steps))


# Hooks and plans


class Reviews(Hook):
    """Sees every plan; refuses those that have a step of one name, and adds a word to the tasks of others."""

    def __init__(self, refused: str = "", word: str = "") -> None:
        self.refused, self.word = refused, word

    async def on_plan(self, plan: Plan) -> Plan:
        if any(step.id == self.refused for step in plan.steps):
            raise PermissionError(f"not {self.refused}")
        return plan.model_copy(update={"steps": [step.model_copy(update={"task": step.task + self.word}) for step in plan.steps]})


async def test_a_hook_may_refuse_the_plan() -> None:
    """The run fails with the refusal, before any step."""
    journal = MemoryJournal()
    with pytest.raises(DeniedByHook, match="a hook refused the plan: PermissionError: not a"):
        await orchestrator(played(plan=[planned("a")]), Reviews("a"), journal=journal).run("the goal")

    assert "failed" == (await end(journal)).outcome
    assert not {"plan_ready", "step_started"} & set(await kinds(journal))


async def test_a_hook_may_refuse_a_revision() -> None:
    """What was found by then is not lost: the answer is made from it."""
    model = played(
        plan=[planned("a"), planned("b")], step=["found a"], verdict=[judged(False, missing=["b"])], synthesis=["Only a."]
    )
    answer = await orchestrator(model, Reviews("b")).run("the goal")

    assert ("missing", "Only a.", ["a"]) == (answer.outcome, answer.output, list(answer.steps))


async def test_a_hook_may_rewrite_the_plan() -> None:
    """The plan that is written down and walked is the hook's, and the diff is of the plans that were walked."""
    journal = MemoryJournal()
    model = played(
        plan=[planned("a"), planned("b")],
        step=lambda request: f"did {task(request)}",
        verdict=[judged(False), judged(True)],
        synthesis=["All."],
    )
    answer = await orchestrator(model, Reviews(word="!"), journal=journal).run("the goal")

    assert "did b!" == getattr(answer.steps["b"], "output", None)
    first, second = [recorded.event for recorded in await journal.read("run1") if isinstance(recorded.event, PlanReady)]
    assert (["a!"], ["a!!", "b!"]) == tuple([step.task for step in ready.plan.steps] for ready in (first, second))
    assert {"added": ("b",), "removed": (), "changed": ("a",), "kept": ()} == second.diff


async def test_a_plan_that_a_hook_made_is_checked_too() -> None:
    """A hook can't grant what the run does not have."""

    class Grants(Hook):
        async def on_plan(self, plan: Plan) -> Plan:
            return plan.model_copy(update={"steps": [Step(id="a", task="x", tools=("nope",))]})

    with pytest.raises(PlanError, match="P008"):
        await orchestrator(played(plan=[planned("a")]), Grants()).run("the goal")


# Waiting, and runs that never began


async def test_a_run_in_doubt_is_suspended() -> None:
    """It has no output and no end, says what it waits for, and waits for the same when it is resumed."""
    sent = []

    @tool
    async def send(text: str) -> str:
        """Send a letter."""
        sent.append(text)
        return "sent"

    plan = plan_of(ToolStep(id="a", tool="send", args={"text": "x"}), output="${steps.a.output}")
    whole = MemoryJournal()
    await Orchestrator(ScriptedModel([]), tools=[send], journal=whole, ports=ports()).run(plan)
    facts = await whole.read("run1")
    begun = [recorded.event.kind for recorded in facts].index("tool_started")
    journal = await journal_of("run1", facts[: begun + 1])

    answers: list[Answer] = []
    for _ in range(2):
        answers.append(await Orchestrator(ScriptedModel([]), tools=[send], journal=journal, ports=ports()).resume("run1"))

    assert [("suspended", "", ["a"])] * 2 == [
        (answer.outcome, answer.output, [waiting.step for waiting in answer.waiting]) for answer in answers
    ]
    assert ["x"] == sent
    assert "run_ended" not in await kinds(journal)


def chained(**tasks: str) -> list[dict[str, Any]]:
    """Twenty steps in four chains side by side, with the tasks of some changed."""
    return [
        {"id": f"s{n}", "task": tasks.get(f"s{n}", f"do s{n}"), "depends_on": [f"s{n - 4}"] if n >= 4 else []} for n in range(20)
    ]


async def test_a_revision_pays_for_what_it_changes() -> None:
    """Of twenty steps one failed: the revision does that one in another way, and what waited for it, and nothing else."""

    def step(request: Request) -> Line:
        return DOWN if task(request) == "do s9" else f"{task(request)}: done"

    revised = [each for each in chained(s9="do s9 otherwise") if each["id"] in ("s9", "s13", "s17")]
    journal = MemoryJournal()
    model = played(
        plan=[asks("plan", steps=renamed(revised))],
        step=step,
        verdict=[judged(False, missing=["s9"]), judged(True)],
        synthesis=["all"],
    )
    plan = Plan(goal="the goal", steps=[Step(tools=(), **each) for each in chained()])
    answer = await orchestrator(model, journal=journal, limits=Limits(submitted_rounds=2)).run(plan)

    assert ("achieved", 20) == (answer.outcome, len(answer.steps))
    done = [task(request) for request in model.requests if part_of(request) == "step"]
    assert ["do s9 otherwise", "do s13", "do s17"] == done[-3:]
    assert 18 + 3 == len(done)
    diffs = [each.event.diff for each in await journal.read("run1") if isinstance(each.event, PlanReady)]
    assert (("s9b", "s13b", "s17b"), ("s9", "s13", "s17")) == (diffs[1]["added"], diffs[1]["removed"])


def renamed(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps under new names, also where they wait for each other."""
    new = {each["id"] for each in steps}
    return [
        {**each, "id": f"{each['id']}b", "depends_on": [f"{need}b" if need in new else need for need in each["depends_on"]]}
        for each in steps
    ]


async def test_a_round_that_gains_nothing_is_the_last() -> None:
    """Nothing succeeded that had not before: there is no reason to think that another revision would change that."""

    def step(request: Request) -> Line:
        return "x is done" if task(request) == "x" else DOWN

    with played(
        plan=[planned("x", "y"), planned("z")],
        step=step,
        verdict=[judged(False, missing=["y"]), judged(False, missing=["z"])],
        synthesis=["only x"],
    ) as model:
        answer = await orchestrator(model, limits=Limits(rounds=5)).run("the goal")

    assert ("missing", "only x") == (answer.outcome, answer.output)
    assert {"x": Succeeded, "z": Failed} == {name: type(result) for name, result in answer.steps.items()}


class Speaks(Hook):
    """A user who speaks up when a step has ended."""

    def __init__(self, step: str, text: str) -> None:
        self._step, self._text = step, text
        self.run: Run | None = None

    async def after_step(self, result: StepResult) -> StepResult:
        if self.run is not None and result.step == self._step:
            await self.run.interrupt(self._text)
        return result


async def test_what_the_user_says_is_planned_for() -> None:
    """It reaches judge, planner and answer, and uses up no round; what was found before is not found again."""
    heard: list[str] = []
    lines = {
        "plan": iter([planned("a"), planned("b")]),
        "verdict": iter([judged(False, missing=["euros"]), judged(True)]),
        "synthesis": iter(["12 euros"]),
    }

    def say(request: Request) -> Line:
        part = part_of(request)
        if "in euros" in request.messages[-1].text:
            heard.append(part)
        return task(request) if part == "step" else next(lines[part])

    user = Speaks("a", "in euros")
    async with orchestrator(ScriptedModel(say), user, limits=Limits(rounds=1)).open("the goal") as run:
        user.run = run
        answer = await run.answer()

    assert ("achieved", "12 euros", ["a", "b"]) == (answer.outcome, answer.output, list(answer.steps))
    assert ["verdict", "plan", "step", "verdict", "synthesis"] == heard


async def test_a_submitted_plan_stays_whatever_is_said() -> None:
    """It is its submitter's. Its agents hear the user, and so does the answer."""
    user = Speaks("a", "in euros")
    model = played(step=task, synthesis=lambda request: "heard" if "in euros" in request.messages[-1].text else "not heard")
    plan = plan_of(Step(id="a", task="a"), Step(id="b", task="b", depends_on=("a",)))
    async with orchestrator(model, user).open(plan) as run:
        user.run = run
        answer = await run.answer()

    assert ("achieved", "heard") == (answer.outcome, answer.output)


async def test_a_step_may_ask_for_another_plan() -> None:
    """Where it fails nothing new starts, no judge is asked, and the plan is revised where that is allowed."""
    failing = Step(id="y", task="y", tools=(), on_failure="replan")
    after = Step(id="v", task="v", depends_on="x", tools=())
    plan = Plan(goal="the goal", steps=[failing, Step(id="x", task="x", tools=()), after])

    def step(request: Request) -> Line:
        return DOWN if task(request) == "y" else f"{task(request)} is done"

    with played(plan=[planned("z")], step=step, verdict=[judged(True)], synthesis=["z it is"]) as model:
        answer = await orchestrator(model, limits=Limits(submitted_rounds=2)).run(plan)
    alone = await orchestrator(played(step=step, synthesis=["no more"])).run(plan)

    assert ("achieved", "z it is") == (answer.outcome, answer.output)
    assert "missing" == alone.outcome
    assert Skipped(step="v", because_of="y", reason="y failed and asks for another plan") == alone.steps["v"]


async def test_a_goal_is_met_without_optional_steps() -> None:
    """A step that failed and was not needed is no reason to lack anything."""
    steps = [Step(id="y", task="y", tools=(), optional=True), Step(id="x", task="x", tools=(), depends_on="y")]
    model = played(step=lambda request: DOWN if task(request) == "y" else "x is done")
    answer = await orchestrator(model).run(Plan(goal="the goal", steps=steps, output="${steps.x.output}"))

    assert ("achieved", "x is done") == (answer.outcome, answer.output)
    assert isinstance(answer.steps["y"], Failed)


async def test_an_output_that_was_not_taken_is_written_from_what_was() -> None:
    """The plan names a step on a branch that its condition closed: the answer is made from the others."""
    steps = [Step(id="x", task="x", tools=()), Step(id="y", task="y", when="${steps.x.output} == 'no'")]
    model = played(step=["yes"], synthesis=["x said yes"])
    answer = await orchestrator(model).run(Plan(goal="the goal", steps=steps, output="${steps.y.output}"))

    assert ("achieved", "x said yes") == (answer.outcome, answer.output)


def test_what_was_asked_for_is_taken_from_the_journal() -> None:
    """A run of which not even that was written can't be taken up."""
    plan = plan_of(Step(id="a", task="x"), goal="from the plan")

    assert "from the plan" == Accepted.of(plan, {"city": "x"}, today="2026-01-02", setup={}).goal
    assert Accepted(goal="g", plan=None, inputs={}, today="2026-01-02") == Accepted.of("g", {}, today="2026-01-02", setup={})
    with pytest.raises(UnknownRun, match="'r'"):
        Accepted.again(RunState(), "r")
