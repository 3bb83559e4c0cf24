"""How one step is done."""

from collections.abc import Mapping

import anyio
import pytest

from orchestrator.errors import LeaseLost
from orchestrator.hooks import Hook, as_one
from orchestrator.interrupts import InterruptQueue
from orchestrator.ledger import private_ledger
from orchestrator.limits import Limits
from orchestrator.steps import Sight, StepEnd, StepWork
from planner import AnyStep, Plan, Step, ToolStep
from planner.results import Failed, Results, Skipped, Succeeded
from registry.calls import Call
from registry.context import request_tokens
from registry.errors import ToolFailed, Unreachable
from registry.messages import Json, Reply, ToolCall, UserMessage
from registry.models.model import Model
from registry.models.registry import ModelRegistry
from registry.testing import Delay, FaultyModel, ScriptedModel, asks
from registry.tools.function import tool
from registry.tools.registry import ToolRegistry
from registry.tools.tool import Observation
from registry.usage import UNMETERED

pytestmark = pytest.mark.anyio


@tool(effect="pure")
async def read(path: str) -> str:
    """Read a file."""
    return f"text of {path}"


@tool(effect="pure", trusted=True)
async def count(items: list[int]) -> dict[str, int]:
    """Count items."""
    return {"count": len(items)}


async def do(
    step: AnyStep,
    model: Model | None = None,
    *,
    results: Results | None = None,
    inputs: Mapping[str, Json] | None = None,
    hook: Hook | None = None,
    limits: Limits | None = None,
) -> StepEnd:
    """The end of one step whose dependencies ended as `results` says."""
    results = results or {}
    limits = limits or Limits()
    before = tuple(Step(id=name, task=name) for name in results)
    plan = Plan(goal="the goal", inputs={name: {} for name in inputs or {}}, steps=(*before, step))
    work = StepWork(
        ModelRegistry(model or ScriptedModel([])),
        ToolRegistry([read, count]),
        ledger=await private_ledger(),
        hooks=as_one(hook),
        limits=limits,
        interrupts=InterruptQueue(),
    )
    call = Call(run="r", scope="step/x", label=step.id, deadline=anyio.current_time() + work.seconds(step))
    step = plan.step(step.id)
    return await work.do(step, Sight(plan=plan, inputs=inputs or {}, results=results, call=call))


async def test_an_agent_step_succeeds_with_its_whole_answer() -> None:
    """Output, who did it, what it cost, how many laps, and the origins of all that was read."""
    with ScriptedModel([asks("read", path="x"), "the whole text"], name="m") as model:
        ended = await do(Step(id="a", task="read x"), model)

    assert isinstance(ended, Succeeded)
    assert ("the whole text", "m", 2, 2) == (ended.output, ended.model, ended.usage.requests, ended.iterations)
    assert ("tool:read",) == ended.origins


@pytest.mark.parametrize(
    ("script", "error", "outcome"),
    [
        pytest.param([Unreachable("m", "down")], "Unreachable", "failed", id="outage"),
        pytest.param(["", "", ""], "AgentStopped", "empty", id="empty"),
        pytest.param([Reply(text="no", finish="refused")], "AgentStopped", "refused", id="refused"),
        pytest.param([Reply(text="x", finish="length")] * 4, "AgentStopped", "truncated", id="truncated"),
        pytest.param([asks("read", path="x"), "so far"], "IterationsExhausted", "exhausted", id="exhausted"),
    ],
)
async def test_only_completed_is_a_success(script: list[Reply | str], error: str, outcome: str) -> None:
    """Each other outcome is a failure of its own kind; what it cost and what there was stay with it."""
    with ScriptedModel(script) as model:
        ended = await do(Step(id="a", task="x", max_iterations=1), model)

    assert isinstance(ended, Failed)
    assert (error, outcome) == (ended.error, ended.outcome)
    assert 1 == ended.iterations


@pytest.mark.parametrize("outcome", ["truncated", "refused", "empty"])
async def test_a_step_may_accept_more(outcome: str) -> None:
    """An outcome that the step accepts is a success, and says which one it was."""
    replies = {
        "truncated": [Reply(text="x", finish="length")] * 4,
        "refused": [Reply(text="no", finish="refused")],
        "empty": [""] * 3,
    }
    ended = await do(Step(id="a", task="x", accept=(outcome,)), ScriptedModel(replies[outcome]))

    assert isinstance(ended, Succeeded)
    assert outcome == ended.outcome


async def test_a_call_that_was_cut_off_four_times_never_runs() -> None:
    """However often it is asked for: a truncated call is not a call."""
    ran = []

    class Watches(Hook):
        async def before_tool(self, wanted: ToolCall, call: Call) -> ToolCall:
            ran.append(wanted)
            return wanted

    cut = Reply(calls=(ToolCall(id="1", name="read", arguments='{"path": "/"}'),), finish="length")
    ended = await do(Step(id="a", task="x"), ScriptedModel([cut] * 4), hook=Watches())

    assert isinstance(ended, Failed)
    assert "truncated" == ended.outcome
    assert [] == ran


async def test_a_timed_out_request_is_counted() -> None:
    """The step fails by its own clock, and the request that was under way cost nobody knows what."""
    ended = await do(Step(id="a", task="x", timeout=5), FaultyModel(ScriptedModel(["late"]), [Delay(60)]))

    assert isinstance(ended, Failed)
    assert ("StepTimedOut", "not done within 5 s", UNMETERED) == (ended.error, ended.message, ended.usage)


async def test_a_tool_step_is_one_call() -> None:
    """References keep their type, structured results stay data, origins of both are joined."""
    results: Results = {"find": Succeeded(step="find", output="", data={"items": [1, 2, 3]}, origins=("tool:web",))}
    ended = await do(ToolStep(id="a", tool="count", args={"items": "${steps.find.data.items}"}), results=results)

    assert isinstance(ended, Succeeded)
    assert ({"count": 3}, ("tool:web",)) == (ended.data, ended.origins)
    assert ("", 0) == (ended.model, ended.usage.requests)


async def test_inputs_reach_tasks_and_arguments() -> None:
    """`${inputs...}` is what the run was given."""
    with ScriptedModel(["ok"]) as model:
        await do(Step(id="a", task="read ${inputs.path}"), model, inputs={"path": "x.txt"})
    ended = await do(ToolStep(id="a", tool="read", args={"path": "${inputs.path}"}), inputs={"path": "x.txt"})

    assert "read x.txt" in model.requests[0].messages[-1].text
    assert "text of x.txt" == getattr(ended, "output", None)


async def test_a_reference_that_leads_nowhere_fails_its_step() -> None:
    """The sentence quotes the result's keys, so it has the result's origins."""
    results: Results = {"find": Succeeded(step="find", output="", data={"evil": 1}, origins=("tool:web",))}
    ended = await do(ToolStep(id="a", tool="read", args={"path": "${steps.find.data.path}"}), results=results)

    assert isinstance(ended, Failed)
    assert "BrokenReference" == ended.error
    assert "evil" in ended.message
    assert ("tool:web",) == ended.origins


@pytest.mark.parametrize(
    ("result", "told"),
    [
        pytest.param(Succeeded(step="b", output="found it"), "Result of b:\nfound it", id="succeeded"),
        pytest.param(Failed(step="b", error="X", message="broken"), "Result of b:\n(no result: broken)", id="failed"),
        pytest.param(Skipped(step="b", because_of="c", reason="c failed"), "Result of b:\n(no result: c failed)", id="skipped"),
    ],
)
async def test_a_step_reads_how_its_dependencies_ended(result: Succeeded | Failed | Skipped, told: str) -> None:
    """What they found, or that and why there is nothing."""
    with ScriptedModel(["ok"]) as model:
        await do(Step(id="a", task="x", depends_on="b"), model, results={"b": result})

    assert told in model.requests[0].messages[-1].text


async def test_dependencies_share_the_window() -> None:
    """Many long findings are each cut to their share; none is dropped, and the request fits."""
    results: Results = {f"s{n}": Succeeded(step=f"s{n}", output=f"finding {n} " + "x" * 9_000) for n in range(10)}
    with ScriptedModel(["ok"], context_window=4096) as model:
        await do(Step(id="a", task="x", depends_on=tuple(results)), model, results=results)

    (request,) = model.requests
    assert request_tokens(request.messages, request.tools) <= 3072
    assert all(f"Result of s{n}:\nfinding {n} xx" in request.messages[-1].text for n in range(10))


async def test_untrusted_findings_taint_the_task() -> None:
    """The agent's goal carries the origins of the dependencies that it quotes, and so does its answer."""
    results: Results = {"b": Succeeded(step="b", output="x", origins=("tool:web",))}
    with ScriptedModel(["ok"]) as model:
        ended = await do(Step(id="a", task="x", depends_on="b"), model, results=results)

    assert ("tool:web",) == model.requests[0].messages[-1].origins
    assert ("tool:web",) == getattr(ended, "origins", None)


class Refuses(Hook):
    """Refuses at one place, in one way."""

    def __init__(self, place: str, error: Exception) -> None:
        self.place, self.error = place, error

    def _refuse(self, place: str) -> None:
        if place == self.place:
            raise self.error

    async def before_iteration(self, iteration: int, call: Call) -> None:
        self._refuse("before_iteration")

    async def after_iteration(self, iteration: int, reply: Reply, call: Call) -> None:
        self._refuse("after_iteration")

    async def after_tool(self, observation: Observation, call: Call) -> Observation:
        self._refuse("after_tool")
        return observation


@pytest.mark.parametrize("place", ["before_iteration", "after_iteration"])
@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ValueError("no"), id="by accident"),
        pytest.param(ToolFailed("policy", "no"), id="with a tool's error"),
        pytest.param(LeaseLost("r", 1, 2), id="with an error of a run"),
    ],
)
async def test_a_policy_that_fails_fails_the_step_only(place: str, error: Exception) -> None:
    """Whatever a hook raises in a lap is a denial, and a denial ends the step and not the run."""
    ended = await do(Step(id="a", task="x"), ScriptedModel(["ok"]), hook=Refuses(place, error))

    assert isinstance(ended, Failed)
    assert "DeniedByHook" == ended.error


async def test_a_refused_outcome_fails_a_tool_step() -> None:
    """What a policy hides from a model it hides from a plan as well."""
    ended = await do(ToolStep(id="a", tool="read", args={"path": "x"}), hook=Refuses("after_tool", ValueError("no")))

    assert isinstance(ended, Failed)
    assert "ToolDenied" == ended.error
    assert "text of x" not in ended.message


async def test_a_step_has_its_own_limits() -> None:
    """A step that sets no time and no laps has those of the run."""
    busy = ScriptedModel(lambda request: "so far" if request.tool_choice == "none" else asks("read", path="x"))
    limits = Limits(step_iterations=3, step_seconds=7.0)
    ended = await do(Step(id="a", task="x"), busy, limits=limits)
    shorter = await do(Step(id="a", task="x", max_iterations=1), busy, limits=limits)
    late = await do(Step(id="a", task="x"), FaultyModel(ScriptedModel(["x"]), [Delay(60)]), limits=limits)

    assert [3, 1] == [getattr(each, "iterations", None) for each in (ended, shorter)]
    assert "not done within 7 s" == getattr(late, "message", None)


async def test_the_goal_of_a_step_survives_trimming() -> None:
    """The task is pinned, so that a long loop does not forget what it is for."""
    with ScriptedModel(["ok"]) as model:
        await do(Step(id="a", task="x"), model)

    (goal,) = [message for message in model.requests[0].messages if isinstance(message, UserMessage)]
    assert goal.pinned
