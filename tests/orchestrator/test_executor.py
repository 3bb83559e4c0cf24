"""Walking a plan: what runs when, what a failure does, and what an agent is given."""

from collections.abc import Iterable

import anyio
import pytest

from orchestrator.events.facts import Answered
from orchestrator.executor import DAGExecutor, Settled, Suspended
from orchestrator.hooks import CompositeHook, Hook
from orchestrator.ledger import private_ledger
from orchestrator.limits import Limits
from planner import AnyStep, ApprovalStep, Plan, Step, ToolStep
from planner.results import Failed, Results, Skipped, Succeeded
from registry.builtin import ask_user
from registry.calls import InDoubt
from registry.errors import Unreachable
from registry.messages import Request
from registry.models.model import Model
from registry.models.registry import ModelRegistry
from registry.testing import Delay, FaultyModel, ScriptedModel, asks
from registry.tools.function import tool
from registry.tools.tool import Tool

pytestmark = pytest.mark.anyio


def echo(request: Request) -> str:
    """A model that answers with the task it was given."""
    text = request.messages[-1].text
    return text.split("\n", 1)[0]


@tool(effect="pure")
async def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


@tool(effect="pure")
async def doze(seconds: float) -> str:
    """Wait a while."""
    await anyio.sleep(seconds)
    return f"slept {seconds}"


async def walk(executor: DAGExecutor, *steps: AnyStep) -> Results:
    walked = await executor.walk(Plan(goal="test", steps=steps))
    assert isinstance(walked, Settled)
    return walked.results


async def test_independent_steps_run_side_by_side() -> None:
    """Ten steps that each take a second take a second together, and ten in a chain take ten."""
    began = anyio.current_time()
    naps = [ToolStep(id=f"s{i}", tool="doze", args={"seconds": 1}) for i in range(10)]
    await walk(DAGExecutor(ScriptedModel([]), [doze]), *naps)
    side_by_side = anyio.current_time() - began
    chain = [ToolStep(id=f"s{i}", tool="doze", args={"seconds": 1}, depends_on=[f"s{i - 1}"] if i else []) for i in range(10)]
    await walk(DAGExecutor(ScriptedModel([]), [doze]), *chain)

    assert side_by_side < 1.5
    assert 10 <= anyio.current_time() - began - side_by_side < 10.5


async def test_no_step_waits_for_a_stranger() -> None:
    """The dependent of a quick step starts while a slow one still runs."""
    ledger = await private_ledger()
    steps = [
        ToolStep(id="slow", tool="doze", args={"seconds": 60}),
        ToolStep(id="quick", tool="doze", args={"seconds": 1}),
        ToolStep(id="after", tool="doze", args={"seconds": 1}, depends_on="quick"),
    ]
    await walk(DAGExecutor(ScriptedModel([]), [doze], ledger=ledger), *steps)

    ended = [recorded.event.result.step for recorded in ledger.facts if recorded.event.kind == "step_ended"]
    assert ["quick", "after", "slow"] == ended


async def test_each_step_gets_the_model_of_its_hint() -> None:
    """A fresh agent runs on the model of the step's `model_hint`, and on `general` without one."""
    models = ModelRegistry({"general": ScriptedModel(echo, name="big"), "fast": ScriptedModel(echo, name="small")})
    results = await walk(DAGExecutor(models), Step(id="a", task="one", model_hint="fast"), Step(id="b", task="two"))

    assert {"a": "small", "b": "big"} == {step: result.model for step, result in results.items()}


async def test_a_step_sees_what_its_dependencies_found() -> None:
    """The agent reads goal, task and the outputs of its dependencies, and nothing of other steps."""
    model = ScriptedModel(echo)
    await walk(
        DAGExecutor(model),
        Step(id="one", task="alpha"),
        Step(id="two", task="beta"),
        Step(id="end", task="gamma", depends_on="one"),
    )
    frame, asked = (message.text for message in model.requests[-1].messages)

    assert "The goal of the whole plan: test" in frame
    assert "gamma" in asked
    assert "Result of one:\nalpha" in asked
    assert "beta" not in asked


async def test_what_a_task_quotes_is_not_said_twice() -> None:
    """A dependency that the task refers to stands where the task puts it."""
    model = ScriptedModel(lambda request: "a long finding" if "find" in request.messages[-1].text else "done")
    await walk(DAGExecutor(model), Step(id="one", task="find"), Step(id="two", task="shorten: ${steps.one.output}"))

    assert 1 == model.requests[-1].messages[-1].text.count("a long finding")


async def test_a_tool_step_calls_no_model() -> None:
    """A tool step resolves its arguments and is one call."""
    with ScriptedModel(["hello"]) as model:
        results = await walk(
            DAGExecutor(model, [shout]),
            Step(id="say", task="greet", tools=()),
            ToolStep(id="loud", tool="shout", args={"text": "${steps.say.output}"}),
        )

    assert isinstance(results["loud"], Succeeded)
    assert "HELLO" == results["loud"].output


async def test_a_failure_skips_its_dependents_only() -> None:
    """A model error fails one step; its dependents are skipped and everything else goes on."""
    model = ScriptedModel(lambda request: Unreachable("x", "down") if "bad" in request.messages[-1].text else "fine")
    results = await walk(
        DAGExecutor(model), Step(id="a", task="bad"), Step(id="b", task="ok", depends_on="a"), Step(id="c", task="ok")
    )

    assert isinstance(results["a"], Failed)
    assert "Unreachable" == results["a"].error
    assert Skipped(step="b", because_of="a", reason="a failed") == results["b"]
    assert isinstance(results["c"], Succeeded)


async def test_a_dependent_that_goes_on_is_told_what_is_missing() -> None:
    """With `on_failure: continue` the dependent starts and reads that there is no result, and why."""
    model = ScriptedModel(lambda request: Unreachable("x", "down") if "fetch" in request.messages[-1].text else "fine")
    results = await walk(
        DAGExecutor(model),
        Step(id="a", task="fetch", on_failure="continue"),
        Step(id="b", task="sum up", depends_on="a"),
    )

    assert isinstance(results["b"], Succeeded)
    assert "no result: x can't be reached: down" in model.requests[-1].messages[-1].text


async def test_a_failed_tool_fails_its_step() -> None:
    """A tool step whose call goes wrong has failed, with the kind of error and its sentence."""
    results = await walk(DAGExecutor(ScriptedModel([]), [shout]), ToolStep(id="a", tool="shout", args={"txt": "x"}))

    assert isinstance(results["a"], Failed)
    assert "BadArguments" == results["a"].error


async def test_a_step_has_its_time() -> None:
    """A step that is not done within its timeout has failed, and others keep their results."""
    slow = FaultyModel(ScriptedModel(echo), [Delay(1000)])
    began = anyio.current_time()
    results = await walk(DAGExecutor(slow), Step(id="a", task="x", timeout=5), Step(id="b", task="y"))

    assert isinstance(results["a"], Failed)
    assert ("StepTimedOut", "not done within 5 s") == (results["a"].error, results["a"].message)
    assert isinstance(results["b"], Succeeded)
    assert anyio.current_time() - began < 6


async def test_exhausted_is_not_a_success() -> None:
    """A step that used up its iterations has failed with what it had, unless it accepts that."""
    busy = ScriptedModel(lambda request: "so far" if request.tool_choice == "none" else asks("shout", text="x"))
    strict = await walk(DAGExecutor(busy, [shout], limits=Limits(step_iterations=2)), Step(id="a", task="x"))
    lenient = await walk(
        DAGExecutor(busy, [shout], limits=Limits(step_iterations=2)), Step(id="a", task="x", accept=("exhausted",))
    )

    assert isinstance(strict["a"], Failed)
    assert ("IterationsExhausted", "exhausted", "so far") == (strict["a"].error, strict["a"].outcome, strict["a"].output)
    assert isinstance(lenient["a"], Succeeded)


async def test_a_step_gets_the_tools_it_was_granted() -> None:
    """`tools` grants: the agent sees these and no others."""

    @tool(effect="pure")
    async def other() -> str:
        """Something else."""
        return ""

    model = ScriptedModel(echo)
    await walk(DAGExecutor(model, [shout, other]), Step(id="a", task="x", tools=("shout",)), Step(id="b", task="y"))

    assert [["shout"], ["shout", "other"]] == [[spec.name for spec in request.tools] for request in model.requests]


async def test_hooks_reach_every_step() -> None:
    """What is configured on the executor holds in each step: a policy can refuse one, and see all results."""
    seen = []

    class Policy(Hook):
        async def before_step(self, step: AnyStep) -> AnyStep:
            if step.id == "b":
                raise ValueError("not b")
            return step

        async def after_step(self, result):
            seen.append(result.step)
            return result

    hooks = CompositeHook([Policy()], report=lambda what, error: None)
    results = await walk(DAGExecutor(ScriptedModel(echo), hooks=hooks), Step(id="a", task="x"), Step(id="b", task="y"))

    assert isinstance(results["b"], Failed)
    assert "DeniedByHook" == results["b"].error
    assert ["a"] == seen


async def test_our_own_bugs_are_loud() -> None:
    """An error that is no model's, tool's or hook's ends the walk as itself."""
    model = ScriptedModel(lambda request: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        await walk(DAGExecutor(model), Step(id="a", task="x"), Step(id="b", task="y"))


async def test_a_call_in_doubt_suspends_its_step_only() -> None:
    """An effect that was begun and has no outcome is not repeated: the walk ends suspended, its siblings done."""
    ran = []

    @tool
    async def send(text: str) -> str:
        """Send a letter."""
        ran.append(text)
        return "sent"

    steps = [ToolStep(id="a", tool="send", args={"text": "x"}), ToolStep(id="b", tool="shout", args={"text": "y"})]
    plan = Plan(goal="test", steps=steps)
    first = await private_ledger()
    await DAGExecutor(ScriptedModel([]), [send, shout], ledger=first).walk(plan)
    second = await private_ledger()
    for recorded in first.facts:
        if recorded.event.kind in ("step_started", "tool_started") and recorded.event.step == "a":
            await second.record(recorded.event)  # as if the process had died while the tool ran

    walked = await DAGExecutor(ScriptedModel([]), [send, shout], ledger=second).walk(plan)

    assert isinstance(walked, Suspended)
    assert ["a"] == [waiting.step for waiting in walked.waiting]
    assert ["b"] == list(walked.results)
    assert ["x"] == ran


async def in_the_next_life(model: Model, tools: Iterable[Tool], plan: Plan, *, cut: str) -> Settled | Suspended:
    """How a plan is walked after a walk of which everything was lost from the first Fact of a kind on."""
    first = await private_ledger()
    await DAGExecutor(model, tools, ledger=first).walk(plan)
    second = await private_ledger()
    for recorded in first.facts:
        if recorded.event.kind == cut:
            break
        await second.record(recorded.event)
    return await DAGExecutor(model, tools, ledger=second).walk(plan)


@pytest.mark.parametrize(
    ("policy", "ended", "times"),
    [
        pytest.param("ask", "Suspended", 1, id="ask"),
        pytest.param("skip", "Succeeded", 1, id="skip"),
        pytest.param("fail", "OutcomeUnknown", 1, id="fail"),
        pytest.param("retry", "Succeeded", 2, id="retry"),
        pytest.param("probe", "Suspended", 1, id="probe, and there is none"),
    ],
)
@pytest.mark.parametrize("by_agent", [False, True])
async def test_the_plan_says_what_becomes_of_a_doubt(policy: InDoubt, ended: str, times: int, by_agent: bool) -> None:
    """For the calls of an agent as for a step that is one call."""
    ran = []

    @tool
    async def send(text: str) -> str:
        """Send a letter."""
        ran.append(text)
        return "sent"

    script = ScriptedModel(lambda request: "done" if request.messages[-1].role == "tool" else asks("send", text="x"))
    step = (
        Step(id="a", task="x", in_doubt=policy)
        if by_agent
        else ToolStep(id="a", tool="send", args={"text": "x"}, in_doubt=policy)
    )
    plan = Plan(goal="test", steps=(step,))
    walked = await in_the_next_life(script, [send], plan, cut="tool_ended")

    found = "Suspended" if isinstance(walked, Suspended) else walked.results["a"]
    assert ended == (found if isinstance(found, str) else getattr(found, "error", "Succeeded"))
    assert times == len(ran)


async def test_what_stops_the_plan_does_not_stop_what_waits() -> None:
    """A step that waits has begun: it goes on when it may, and what has not begun is skipped."""
    ledger = await private_ledger()
    steps = [
        ApprovalStep(id="ok", question="Well?"),
        ToolStep(id="bad", tool="shout", on_failure="stop"),
        ToolStep(id="after", tool="shout", args={"text": "x"}, depends_on="ok"),
    ]
    plan = Plan(goal="test", steps=steps)
    walked = await DAGExecutor(ScriptedModel([]), [shout], ledger=ledger).walk(plan)
    assert isinstance(walked, Suspended)
    assert {"bad": Failed, "after": Skipped} == {name: type(result) for name, result in walked.results.items()}

    (waiting,) = walked.waiting
    await ledger.record(Answered(waiting=waiting.id, key=waiting.key, decision="approve"))
    walked = await DAGExecutor(ScriptedModel([]), [shout], ledger=ledger).walk(plan)
    assert isinstance(walked, Settled)
    assert isinstance(walked.results["ok"], Succeeded)


async def test_time_does_not_run_while_a_step_waits() -> None:
    """A step has its time to work in, and a person takes as long as they take; siblings go on meanwhile."""
    ledger = await private_ledger()
    model = ScriptedModel(lambda request: asks("ask_user", question="?") if request.messages[-1].role == "user" else "done")
    steps = [Step(id="a", task="x", timeout=5), ToolStep(id="b", tool="doze", args={"seconds": 500})]
    walked = None

    async def walk() -> None:
        nonlocal walked
        walked = await DAGExecutor(model, [ask_user, doze], ledger=ledger).walk(Plan(goal="test", steps=steps))

    async with anyio.create_task_group() as group:
        group.start_soon(walk)
        await anyio.sleep(100)
        (waiting,) = ledger.state.pending
        await ledger.record(Answered(waiting=waiting.id, key=waiting.key, decision="answer", text="yes"))
        await anyio.sleep(1)
        ended = [recorded.event.result.step for recorded in ledger.facts if recorded.event.kind == "step_ended"]

    assert ["a"] == ended
    assert isinstance(walked, Settled)
    assert isinstance(walked.results["a"], Succeeded)
    assert 2 == len(model.requests)


@pytest.mark.parametrize(
    "change",
    [pytest.param({"id": "z"}, id="another id"), pytest.param({"depends_on": ("b",)}, id="another edge")],
)
async def test_a_hook_does_not_move_a_step(change: dict[str, object]) -> None:
    """A hook may rewrite a step but not its place in the graph: one that does has refused it."""

    class Mover(Hook):
        async def before_step(self, step: AnyStep) -> AnyStep:
            return step.model_copy(update=change) if step.id == "a" else step

    results = await walk(DAGExecutor(ScriptedModel(echo), hooks=Mover()), Step(id="a", task="x"), Step(id="b", task="y"))

    assert isinstance(results["a"], Failed)
    assert "DeniedByHook" == results["a"].error
    assert isinstance(results["b"], Succeeded)


async def test_a_refused_result_was_paid_for() -> None:
    """A step whose result a hook refuses has failed, and what it cost still counts."""

    class Censor(Hook):
        async def after_step(self, result):
            raise ValueError("not like that")

    results = await walk(DAGExecutor(ScriptedModel(echo), hooks=Censor()), Step(id="a", task="x"))

    assert isinstance(results["a"], Failed)
    assert ("DeniedByHook", 1) == (results["a"].error, results["a"].usage.requests)
