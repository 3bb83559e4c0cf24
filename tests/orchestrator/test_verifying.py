"""Whether a result is good: by a schema, a condition, a tool or a judge."""

import pytest

from orchestrator.events.facts import Answered
from orchestrator.executor import DAGExecutor, Settled, Suspended
from orchestrator.ledger import Ledger, private_ledger
from planner import MapStep, Plan, Step, ToolStep
from planner.results import Failed, StepResult, Succeeded
from registry.errors import Unreachable
from registry.messages import Json, Request
from registry.models.registry import ModelRegistry
from registry.testing import Line, ScriptedModel, asks
from registry.tools.function import tool

pytestmark = pytest.mark.anyio


@tool(effect="pure")
async def give(value: Json) -> object:
    """Give back what is given."""
    return value


@tool(effect="pure")
async def is_even(number: int) -> bool:
    """Whether it is."""
    return number % 2 == 0


@tool(effect="pure")
async def looks_good(text: str) -> dict[str, Json]:
    """Whether it does."""
    return {"passed": text == "good", "why": "it should say good"}


async def ended(step: Step | ToolStep, *lines: Line, ledger: Ledger | None = None) -> StepResult:
    with ScriptedModel(lines) as model:
        walked = await DAGExecutor(model, [give, is_even, looks_good], ledger=ledger).walk(Plan(goal="test", steps=[step]))
    assert isinstance(walked, Settled)
    return walked.results["a"]


def giving(value: Json, verify: Json) -> ToolStep:
    return ToolStep(id="a", task="give it", tool="give", args={"value": value}, verify=verify)


@pytest.mark.parametrize(
    ("value", "verify", "why"),
    [
        pytest.param({"n": 4}, {"fits": {"required": ["n"]}}, None, id="fits"),
        pytest.param({"m": 4}, {"fits": {"required": ["n"]}}, "'n' is a required property", id="does not fit"),
        pytest.param('{"n": 4}', {"fits": {"required": ["n"]}}, None, id="text that fits"),
        pytest.param({"n": 4}, {"holds": "${data.n} > 3"}, None, id="holds"),
        pytest.param({"n": 2}, {"holds": "${data.n} > 3"}, "it does not hold that ${data.n} > 3", id="does not hold"),
        pytest.param({"n": "x"}, {"holds": "${data.n} > 3"}, '"x" and 3 have no order', id="can't be decided"),
        pytest.param({}, {"holds": "${data.n} > 3"}, "there is no 'n' in an object with the keys: none", id="lacks"),
        pytest.param("plain", {"holds": "'lai' in ${output}"}, None, id="text"),
        pytest.param({"n": 4}, {"tool": "is_even", "args": {"number": "${data.n}"}}, None, id="true"),
        pytest.param({"n": 3}, {"tool": "is_even", "args": {"number": "${data.n}"}}, "is_even says: false", id="false"),
        pytest.param("good", {"tool": "looks_good", "args": {"text": "${output}"}}, None, id="passed"),
        pytest.param("bad", {"tool": "looks_good", "args": {"text": "${output}"}}, "it should say good", id="not passed"),
        pytest.param("x", {"tool": "is_even", "args": {"number": "${output}"}}, "is_even says: wrong arguments", id="tool fails"),
        pytest.param("x", {"tool": "is_even", "args": {"number": "${data.n}"}}, "there is no 'n'", id="nothing to show the tool"),
        pytest.param(True, {"tool": "give", "args": {"value": {"passed": 1}}}, "give says", id="1 is not true"),
    ],
)
async def test_checks_without_a_model(value: Json, verify: Json, why: str | None) -> None:
    """A result that passes stays as it is; one that does not has failed, says why, and can still be read."""
    found = await ended(giving(value, verify))

    if why is None:
        assert isinstance(found, Succeeded)
    else:
        assert isinstance(found, Failed)
        assert "NotVerified" == found.error
        assert why.lower() in found.message.lower()
        assert found.output
        assert {"tool:give", *([f"tool:{verify['tool']}"] if " says: " in found.message else [])} == set(found.origins)


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        pytest.param(asks("finding", why="", passed=True), True, id="passes"),
        pytest.param(asks("finding", why="It is too long.", passed=False), False, id="does not"),
    ],
)
async def test_a_judge_decides(answer: Line, passes: bool) -> None:
    """It reads the task, the result between tags, and what is asked for; what it costs counts."""
    seen: list[Request] = []

    def line(request: Request) -> Line:
        seen.append(request)
        return "a </result> long one" if len(seen) == 1 else answer

    step = Step(id="a", task="Write it", verify={"judge": "It is short."})
    walked = await DAGExecutor(ScriptedModel(line), []).walk(Plan(goal="test", steps=[step]))
    assert isinstance(walked, Settled)
    found = walked.results["a"]

    assert passes is isinstance(found, Succeeded)
    assert 2 == found.usage.requests
    assert "It is short." in seen[1].messages[0].text
    assert "The task: Write it" in seen[1].messages[1].text
    assert "a &lt;/result> long one" in seen[1].messages[1].text
    if isinstance(found, Failed):
        assert "the output did not pass the check: It is too long." == found.message


async def test_the_judge_may_be_another_model() -> None:
    """By role or by name; without one it is the model for planning."""
    models = {"general": ScriptedModel(["x", "y"]), "planning": ScriptedModel([asks("finding", why="", passed=True)])} | {
        "wise": ScriptedModel([asks("finding", why="", passed=True)])
    }
    steps = [Step(id="a", task="1", verify={"judge": "?"}), Step(id="b", task="2", verify={"judge": "?", "model": "wise"})]
    await DAGExecutor(ModelRegistry(models), []).walk(Plan(goal="test", steps=steps))

    assert [2, 1, 1] == [len(model.requests) for model in models.values()]


async def test_an_outage_of_the_judge_is_an_error() -> None:
    """Nobody has found the result wanting."""
    found = await ended(Step(id="a", task="x", verify={"judge": "?"}), "fine", Unreachable("the judge", "down"))

    assert isinstance(found, Failed)
    assert ("Unreachable", "fine") == (found.error, found.output)


async def test_a_check_may_ask_for_leave() -> None:
    """A tool that needs approval is asked about, and the step goes on when the answer is there, without doing its work again."""

    @tool(effect="pure", requires_approval=True)
    async def inspect(text: str) -> bool:
        """Look closely."""
        return True

    ledger, later = await private_ledger(), await private_ledger()
    step = Step(id="a", task="x", verify={"tool": "inspect", "args": {"text": "${output}"}})
    plan = Plan(goal="test", steps=[step])
    with ScriptedModel(["fine"]) as model:
        walked = await DAGExecutor(model, [inspect], ledger=ledger).walk(plan)
        assert isinstance(walked, Suspended)
        (waiting,) = walked.waiting
        for fact in (
            *(recorded.event for recorded in ledger.facts),
            Answered(waiting=waiting.id, key=waiting.key, decision="approve"),
        ):
            await later.record(fact)
        walked = await DAGExecutor(model, [inspect], ledger=later).walk(plan)

    assert isinstance(walked, Settled)
    assert isinstance(walked.results["a"], Succeeded)


async def test_a_check_inside_a_map_sees_the_item() -> None:
    """What the step's place gives it is there beside its own result."""
    inner = ToolStep(id="i", tool="give", args={"value": "${item}"}, verify={"holds": "${data} == ${item} and ${index} < 2"})
    plan = Plan(goal="test", steps=[MapStep(id="each", over=[1, 2, 3], step=inner, on_item_failure="skip")])
    walked = await DAGExecutor(ScriptedModel([]), [give]).walk(plan)

    assert isinstance(walked, Settled)
    assert [1, 2] == walked.results["each"].data
