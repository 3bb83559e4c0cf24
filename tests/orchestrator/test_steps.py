"""How one step is done."""

from collections.abc import Iterable, Mapping

import anyio
import pytest

from orchestrator.errors import LeaseLost
from orchestrator.events.facts import Answered
from orchestrator.hooks import Hook, as_one
from orchestrator.interrupts import InterruptQueue
from orchestrator.ledger import private_ledger
from orchestrator.limits import Limits
from orchestrator.react.selection import MORE_TOOLS
from orchestrator.sight import Sight
from orchestrator.steps import StepEnd, StepWork
from orchestrator.waiting import Decision, Waiting
from planner import AnyStep, ApprovalStep, Plan, Step, ToolStep
from planner.results import Failed, Results, Skipped, Succeeded
from registry.builtin import ask_user
from registry.calls import Call
from registry.context import request_tokens
from registry.errors import Overloaded, ToolFailed, Unreachable
from registry.messages import Json, Reply, ToolCall, UserMessage
from registry.models.model import Model
from registry.models.registry import ModelRegistry
from registry.testing import Delay, FaultyModel, ScriptedModel, asks
from registry.tools.function import tool
from registry.tools.registry import ToolRegistry
from registry.tools.tool import Observation
from registry.usage import UNMETERED, Usage
from tests.orchestrator.react.test_selection import many

pytestmark = pytest.mark.anyio


@tool(effect="pure")
async def read(path: str) -> str:
    """Read a file."""
    return f"text of {path}"


@tool(effect="pure", trusted=True)
async def count(items: list[int]) -> dict[str, int]:
    """Count items."""
    return {"count": len(items)}


@tool(requires_approval=True)
async def post(to: str) -> str:
    """Post a parcel."""
    return f"posted to {to}"


async def do(
    step: AnyStep,
    model: Model | None = None,
    *,
    results: Results | None = None,
    inputs: Mapping[str, Json] | None = None,
    hook: Hook | None = None,
    limits: Limits | None = None,
    answers: Iterable[Answered] = (),
    attempt: int = 1,
    models: ModelRegistry | None = None,
    tools: ToolRegistry | None = None,
) -> StepEnd:
    """The end of one step whose dependencies ended as `results` says, when `answers` have been given."""
    results = results or {}
    limits = limits or Limits()
    before = tuple(Step(id=name, task=name) for name in results)
    plan = Plan(goal="the goal", inputs={name: {} for name in inputs or {}}, steps=(*before, step))
    ledger = await private_ledger()
    for answered in answers:
        await ledger.record(answered)
    work = StepWork(
        models or ModelRegistry(model or ScriptedModel([])),
        tools or ToolRegistry([read, count, post, ask_user]),
        ledger=ledger,
        hooks=as_one(hook),
        limits=limits,
        interrupts=InterruptQueue(),
    )
    call = Call(
        run="r", scope="step/x", label=step.id, attempt=attempt, deadline=anyio.current_time() + work.seconds(step, plan.limits)
    )
    step = plan.step(step.id)
    return await work.do(step, Sight(plan=plan, inputs=inputs or {}, results=results, call=call))


async def test_an_agent_step_succeeds_with_its_whole_answer() -> None:
    """Output, who did it, what it cost, how many laps, and the origins of all that was read."""
    with ScriptedModel([asks("read", path="x"), "the whole text"], name="m") as model:
        ended = await do(Step(id="a", task="read x"), model)

    assert isinstance(ended, Succeeded)
    assert ("the whole text", "m", 2, 2) == (ended.output, ended.model, ended.usage.requests, ended.iterations)
    assert ("tool:read",) == ended.origins


async def test_the_hinted_tool_is_always_shown() -> None:
    """Whatever the agent's model chooses of many tools; it can choose only among those that the step may use."""
    step = Step(id="a", task="x", tool_hint="tool9", tools=[f"tool{n}" for n in range(1, 14)])
    with ScriptedModel([asks("tools", tools=["tool2", "tool20"]), "done"]) as model:
        await do(step, model, tools=many(20))

    assert ["tool2", "tool9", MORE_TOOLS] == [spec.name for spec in model.requests[1].tools]


async def test_the_model_for_summaries_writes_them() -> None:
    """An agent whose conversation outgrows its model's window asks the one that plays `compaction`, and it is paid for."""
    writer = ScriptedModel(lambda request: "in short", name="writer")
    model = ScriptedModel(
        lambda request: asks("read", path="x" * 400 + str(len(model.requests))) if len(model.requests) < 30 else "done",
        name="m",
        context_window=4_096,
    )
    models = ModelRegistry([model, writer], roles={"compaction": "writer"})
    ended = await do(Step(id="a", task="x", max_iterations=40), models=models)

    assert isinstance(ended, Succeeded)
    assert writer.requests
    assert len(model.requests) + len(writer.requests) == ended.usage.requests


@pytest.mark.parametrize(
    ("script", "error", "outcome", "laps"),
    [
        pytest.param([Unreachable("m", "down")], "Unreachable", "failed", 1, id="outage"),
        pytest.param([""] * 6, "AgentStopped", "empty", 2, id="empty"),
        pytest.param([Reply(text="no", finish="refused")], "AgentStopped", "refused", 1, id="refused"),
        pytest.param([Reply(text="x", finish="length")] * 8, "AgentStopped", "truncated", 2, id="truncated"),
        pytest.param(
            [asks("read", path=str(n)) for n in range(9)] + ["so far"], "IterationsExhausted", "exhausted", 9, id="exhausted"
        ),
        pytest.param([asks("read", path="x")] * 5 + ["so far"], "NoProgress", "exhausted", 5, id="no progress"),
    ],
)
async def test_only_completed_is_a_success(script: list[Reply | str], error: str, outcome: str, laps: int) -> None:
    """Each other outcome is a failure of its own kind; what it cost and what there was stay with it."""
    with ScriptedModel(script) as model:
        ended = await do(Step(id="a", task="x", max_iterations=9), model)

    assert isinstance(ended, Failed)
    assert (error, outcome, laps) == (ended.error, ended.outcome, ended.iterations)


@pytest.mark.parametrize("outcome", ["truncated", "refused", "empty"])
async def test_a_step_may_accept_more(outcome: str) -> None:
    """An outcome that the step accepts is a success, and says which one it was."""
    replies = {
        "truncated": [Reply(text="x", finish="length")] * 8,
        "refused": [Reply(text="no", finish="refused")],
        "empty": [""] * 6,
    }
    ended = await do(Step(id="a", task="x", accept=(outcome,)), ScriptedModel(replies[outcome]))

    assert isinstance(ended, Succeeded)
    assert outcome == ended.outcome


async def test_a_call_that_is_always_cut_off_never_runs() -> None:
    """However often it is asked for: a truncated call is not a call."""
    ran = []

    class Watches(Hook):
        async def before_tool(self, wanted: ToolCall, call: Call) -> ToolCall:
            ran.append(wanted)
            return wanted

    cut = Reply(calls=(ToolCall(id="1", name="read", arguments='{"path": "/"}'),), finish="length")
    ended = await do(Step(id="a", task="x"), ScriptedModel([cut] * 8), hook=Watches())

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
    """Many long findings are each told in short, or cut, to fit their share; none is dropped, and the request fits."""
    results: Results = {f"s{n}": Succeeded(step=f"s{n}", output=f"finding {n} " + "x" * 9_000) for n in range(10)}
    with ScriptedModel([*(f"short {n}" for n in range(9)), Overloaded("m", "busy"), "ok"], context_window=4096) as model:
        ended = await do(Step(id="a", task="x", depends_on=tuple(results)), model, results=results)

    request = model.requests[-1]
    assert request_tokens(request.messages, request.tools) <= 3072
    assert all(f"\nshort {n}\n" in request.messages[-1].text for n in range(9))
    assert "Result of s9:\nfinding 9 xx" in request.messages[-1].text
    assert 11 == getattr(ended, "usage", Usage()).requests


async def test_untrusted_findings_taint_the_task() -> None:
    """The agent's goal carries the origins of the dependencies that it quotes, and so does its answer."""
    results: Results = {"b": Succeeded(step="b", output="x", origins=("tool:web",))}
    with ScriptedModel(["ok"]) as model:
        ended = await do(Step(id="a", task="x", depends_on="b"), model, results=results)

    assert ("tool:web",) == model.requests[0].messages[-1].origins
    assert ("tool:web",) == getattr(ended, "origins", None)


FOUND: Results = {"find": Succeeded(step="find", output="Ann", data={"n": 2}, origins=("tool:web",))}
ASKS = ApprovalStep(id="a", question="Send ${steps.find.data} to ${steps.find.output}?")


def answered(waiting: Waiting, decision: Decision, text: str = "", by: str = "") -> Answered:
    return Answered(waiting=waiting.id, key=waiting.key, decision=decision, text=text, by=by)


async def asked_by(step: AnyStep) -> Waiting:
    (waiting,) = await do(step, results=FOUND)
    assert isinstance(waiting, Waiting)
    return waiting


async def test_an_approval_waits_for_a_person() -> None:
    """They are shown the question with all that it refers to."""
    expected = Waiting(step="a", key="step/x", what='Send {"n":2} to Ann?', kind="approval")

    assert expected == await asked_by(ASKS)


@pytest.mark.parametrize(
    ("text", "by", "output"),
    [
        pytest.param("", "", "approved by the user", id="somebody"),
        pytest.param("but soon", "Ada", "approved by Ada: but soon", id="with a word"),
    ],
)
async def test_an_approval_is_a_result(text: str, by: str, output: str) -> None:
    """It says who approved and what they said besides, and carries the origins of what it was asked about."""
    ended = await do(ASKS, results=FOUND, answers=[answered(await asked_by(ASKS), "approve", text, by)])

    expected = Succeeded(step="a", output=output, data={"by": by, "text": text}, origins=("tool:web",))
    assert expected == ended


async def test_a_no_fails_the_step() -> None:
    """So that what a failure does to others is up to the plan."""
    ended = await do(ASKS, results=FOUND, answers=[answered(await asked_by(ASKS), "reject", "too dear", "Ada")])

    assert Failed(step="a", error="Rejected", message="Ada said no: too dear", origins=("tool:web",)) == ended


@pytest.mark.parametrize(
    ("step", "attempt"),
    [
        pytest.param(ApprovalStep(id="a", question="Send it to ${steps.find.output}?"), 1, id="another question"),
        pytest.param(ApprovalStep(id="b", question=ASKS.question), 1, id="another step"),
        pytest.param(ASKS, 2, id="another attempt"),
    ],
)
async def test_a_yes_is_for_what_was_shown(step: AnyStep, attempt: int) -> None:
    """To anything else, and to the same when it comes up again, nobody has said yes."""
    ended = await do(step, results=FOUND, answers=[answered(await asked_by(ASKS), "approve")], attempt=attempt)

    assert isinstance(ended, tuple)


async def test_a_tool_step_may_need_leave_too() -> None:
    """It waits with its arguments as they are resolved; a no is its failure."""
    step = ToolStep(id="a", tool="post", args={"to": "${steps.find.output}"})
    waiting = await asked_by(step)
    done = await do(step, results=FOUND, answers=[answered(waiting, "approve")])
    denied = await do(step, results=FOUND, answers=[answered(waiting, "reject", "no")])

    assert 'post with {"to": "Ann"}' == waiting.what
    assert "posted to Ann" == getattr(done, "output", None)
    assert ("ToolDenied", "error: 'post' may not be called so: the user said no: no") == (
        getattr(denied, "error", None),
        getattr(denied, "message", None),
    )


async def test_a_plan_may_ask_the_user_itself() -> None:
    """Their answer is the step's output."""
    step = ToolStep(id="a", tool="ask_user", args={"question": "When shall we call ${steps.find.output}?"})
    waiting = await asked_by(step)
    ended = await do(step, results=FOUND, answers=[answered(waiting, "answer", "at noon")])

    assert ("question", "When shall we call Ann?") == (waiting.kind, waiting.what)
    assert isinstance(ended, Succeeded)
    assert ("at noon", ("tool:web",)) == (ended.output, ended.origins)


async def test_an_approval_of_what_is_not_there_fails() -> None:
    """Nobody is asked a question with a hole in it."""
    step = ApprovalStep(id="a", question="Send ${steps.find.data.name}?")
    ended = await do(step, results=FOUND)

    assert isinstance(ended, Failed)
    assert "BrokenReference" == ended.error


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
