"""Steps of a plan that are the same: begun once, whatever comes of it."""

from collections.abc import Iterable

import anyio
import pytest

from orchestrator import Answer, Hook, MemoryJournal, Orchestrator
from orchestrator.answering import decide
from orchestrator.events.facts import StepEnded, StepStarted
from orchestrator.events.recorded import Recorded
from orchestrator.executor import DAGExecutor
from orchestrator.fellows import finished, taken_over, unfinished
from orchestrator.ledger import private_ledger
from planner import AnyStep, ApprovalStep, Draft, MapStep, Plan, PlanStep, Step, ToolStep
from planner.results import Failed, Skipped, StepResult, Succeeded
from registry.testing import ScriptedModel
from registry.tools.function import tool
from registry.usage import Usage
from tests.orchestrator.parts import judged, planned, played, task
from tests.scenario import journal_of, ports

pytestmark = pytest.mark.anyio

SPENT = Usage(requests=2, input_tokens=3)


@tool(effect="unkeyed")
async def post(text: str) -> str:
    """Post a letter, which takes a second; a bad one is refused at once."""
    if text == "bad":
        raise ValueError("too bad")
    await anyio.sleep(1)
    return f"posted {text}"


def posts(step_id: str, text: str = "hello", **fields: object) -> ToolStep:
    return ToolStep(id=step_id, tool="post", args={"text": text}, **fields)


async def lived(*steps: AnyStep, journal: MemoryJournal | None = None) -> tuple[Answer, tuple[Recorded, ...]]:
    journal = journal or MemoryJournal()
    model = ScriptedModel(lambda request: f"{task(request)}: done")
    answer = await Orchestrator(model, tools=[post], journal=journal, ports=ports()).run(Plan(goal="g", steps=steps))
    return answer, await journal.read(answer.run_id)


class AllDig(Hook):
    """A policy that knows but one task."""

    async def on_plan(self, plan: Plan) -> Plan:
        return plan.model_copy(update={"steps": tuple(step.model_copy(update={"task": "dig"}) for step in plan.steps)})


def begun(facts: Iterable[Recorded]) -> list[str]:
    return [each.event.step for each in facts if isinstance(each.event, StepStarted)]


def taken(facts: Iterable[Recorded]) -> dict[str, str]:
    """Whose result each step took that was not done itself."""
    return {
        each.event.result.step: each.event.same_as for each in facts if isinstance(each.event, StepEnded) and each.event.same_as
    }


@pytest.mark.parametrize(
    ("end", "took"),
    [
        pytest.param(
            Succeeded(step="a", output="x", data=[1], usage=SPENT, seconds=2.0, iterations=3, model="m", origins=("tool:t",)),
            Succeeded(step="b", output="x", data=[1], model="m", origins=("tool:t",)),
            id="succeeded",
        ),
        pytest.param(
            Failed(step="a", error="E", message="no", output="so far", usage=SPENT, seconds=2.0),
            Failed(step="b", error="E", message="no", output="so far"),
            id="failed",
        ),
        pytest.param(
            Skipped(step="a", because_of="a", reason="it does not hold", untaken=True),
            Skipped(step="b", because_of="b", reason="it does not hold", untaken=True),
            id="its own condition",
        ),
        pytest.param(
            Skipped(step="a", because_of="c", reason="c failed"),
            Skipped(step="b", because_of="c", reason="c failed"),
            id="another",
        ),
    ],
)
async def test_an_end_that_is_taken_over(end: StepResult, took: StepResult) -> None:
    """All that others read is there, under the step's own id, and nothing was spent on it."""
    assert took == taken_over(end, "b")


async def test_work_counts_once() -> None:
    """What was taken over brought nothing new; what failed is open for each, and a branch that was not taken for none."""
    ends = {
        "a": Succeeded(step="a", output=""),
        "b": Succeeded(step="b", output=""),
        "c": Failed(step="c", error="E", message=""),
        "d": Failed(step="d", error="E", message=""),
        "e": Skipped(step="e", because_of="c", reason=""),
        "f": Skipped(step="f", because_of="f", reason="", untaken=True),
    }

    assert ["a"] == list(finished(ends, {"b": "a", "d": "c"}))
    assert ["c", "d", "e"] == list(unfinished(ends))


@pytest.mark.parametrize("text", ["hello", "bad"])
async def test_the_same_work_is_begun_once(text: str) -> None:
    """Also where it fails. What waits for either goes on with the one result, and is the same in its turn."""
    wave = {"on_failure": "continue"}
    steps = posts("a", text, **wave), posts("b", text, **wave), Step(id="c", task="end", depends_on=["a"])
    answer, facts = await lived(*steps, Step(id="d", task="end", depends_on=["b"]), Step(id="e", task="other", depends_on=["b"]))

    assert ["a", "c", "e"] == begun(facts)
    assert {"b": "a", "d": "c"} == taken(facts)
    assert answer.steps["b"] == taken_over(answer.steps["a"], "b")
    assert 1 == answer.summary.tool_calls
    assert 2 == answer.summary.reused
    assert (1, 1) == (answer.steps["c"].usage.requests, answer.steps["e"].usage.requests)
    assert 0 == answer.steps["d"].usage.requests


async def test_what_took_no_time_says_nothing_of_others() -> None:
    """How long such steps take is learnt from the one that was done."""
    _, facts = await lived(posts("a"), posts("b"))

    ends = {each.event.result.step: each.event.like for each in facts if isinstance(each.event, StepEnded)}
    assert {"a": True, "b": False} == {step: bool(like) for step, like in ends.items()}


async def test_a_branch_that_is_not_taken() -> None:
    """Neither of the two is done, and neither has failed."""
    answer, facts = await lived(posts("a", when="1 > 2"), posts("b", when="1 > 2"), Step(id="c", task="t"))

    assert ["c"] == begun(facts)
    assert [True, True] == [answer.steps[name].untaken for name in "ab"]
    assert "achieved" == answer.outcome


async def test_what_stops_the_plan_stops_both() -> None:
    """The second is not begun in place of the first."""
    answer, facts = await lived(
        posts("bad", "bad", on_failure="stop"),
        posts("later", "later"),
        posts("a", depends_on=["later"]),
        posts("b", depends_on=["later"]),
    )

    assert {"bad", "later"} == set(begun(facts))
    assert ["bad", "bad"] == [answer.steps[name].because_of for name in "ab"]


async def test_inside_plans_and_maps() -> None:
    """The steps of a plan inside have their fellows there, whole plans and whole maps have theirs, and equal items have none."""
    inner = Draft(goal="a part", steps=[posts("x"), posts("y")])
    each = {"kind": "tool", "tool": "post", "args": {"text": "${item}"}}
    answer, facts = await lived(
        PlanStep(id="p", plan=inner),
        PlanStep(id="q", plan=inner),
        MapStep(id="m", over=["hello", "hello"], step=each),
        MapStep(id="n", over=["hello", "hello"], step=each),
    )

    assert {"p", "p/x", "m", "m[0]", "m[1]"} == set(begun(facts))
    assert {"p/y": "p/x", "q": "p", "n": "m"} == taken(facts)
    assert 3 == answer.summary.tool_calls
    assert answer.steps["p"].output == answer.steps["q"].output


async def test_a_person_is_asked_each_question() -> None:
    """Two that are put in the same words may be for two persons: each has its answer, and so has what waits for it."""
    journal, asked = MemoryJournal(), [ApprovalStep(id=name, question="Go?") for name in "ab"]
    steps = (*asked, posts("c", depends_on=["a"]), posts("d", depends_on=["b"]))
    answer, _ = await lived(*steps, journal=journal)
    for waiting, word in zip(answer.waiting, ("approve", "reject"), strict=True):
        await decide(journal, answer.run_id, waiting.id, word)
    model = ScriptedModel(["the answer"])
    ended = await Orchestrator(model, tools=[post], journal=journal, ports=ports()).resume(answer.run_id)

    assert ["a", "b"] == [waiting.step for waiting in answer.waiting]
    assert ["succeeded", "failed", "succeeded", "skipped"] == [end.kind for end in ended.steps.values()]


async def test_a_resumed_run_begins_neither_again() -> None:
    """Wherever it was cut: what was known of the first is known of the second, and nothing is done twice."""
    steps = posts("a"), posts("b"), Step(id="c", task="end", depends_on=["b"])
    answer, facts = await lived(*steps)
    for cut in range(1, len(facts) + 1):
        journal = await journal_of(answer.run_id, facts[:cut])
        model = ScriptedModel(lambda request: f"{task(request)}: done")
        doubt = facts[cut - 1].event.kind == "tool_started"
        again = await Orchestrator(model, tools=[post], journal=journal, ports=ports()).resume(answer.run_id)
        rest = await journal.read(answer.run_id)

        assert ["a"] == [name for name in begun(rest) if name in "ab"]
        assert ("suspended", "achieved")[not doubt] == again.outcome
        assert doubt or {"b": "a"} == taken(rest)
        assert doubt or answer.output == again.output


async def test_what_failed_is_tried_again_once() -> None:
    """In the next attempt as in the first: the first of the two is begun, and the other takes what comes of that."""
    ledger, weather = await private_ledger(), iter(["storm", "sun"])

    @tool(effect="pure")
    async def sail() -> str:
        """Sail, unless there is a storm."""
        if next(weather) == "storm":
            raise ValueError("a storm")
        return "sailed"

    plan = Plan(goal="g", steps=[ToolStep(id=name, tool="sail") for name in "ab"])
    executor = DAGExecutor(ScriptedModel([]), [sail], ledger=ledger)
    first = await executor.walk(plan)
    second = await executor.walk(plan, attempts=dict.fromkeys(first.unfinished, 2))

    assert ["a", "a"] == begun(ledger.facts)
    assert (2, 0) == (len(first.unfinished), len(first.finished))
    assert (0, 1) == (len(second.unfinished), len(second.finished))
    assert ["sailed", "sailed"] == [end.output for end in second.results.values()]


async def test_a_revised_plan_takes_what_the_one_before_found() -> None:
    """A step that it adds and that does what was done is told as such; it is nothing that a third plan could build on."""
    model = played(
        plan=[planned("dig"), planned("delve")],
        step=["a hole"],
        verdict=[judged(False, missing=["more"])] * 2,
        synthesis=["the answer"],
    )
    journal = MemoryJournal()
    answer = await Orchestrator(model, journal=journal, hooks=[AllDig()], ports=ports()).run("g")
    facts = await journal.read(answer.run_id)

    assert ["dig"] == begun(facts)
    assert {"delve": "dig"} == taken(facts)
    assert 2 == sum(each.event.kind == "plan_ready" for each in facts)
