"""Policies refuse or rewrite and fail closed; observers only look."""

import threading
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import pytest
from msgspec.structs import replace

from orchestrator.agent import ReActAgent
from orchestrator.errors import DeniedByHook
from orchestrator.hooks import CompositeHook, Hook, Observer, as_one
from planner import AnyStep, Plan, Step
from planner.results import StepResult, Succeeded
from registry.calls import NO_CALL, Call
from registry.errors import DagwrightError, ToolDenied, Unreachable
from registry.messages import Piece, Reply, TextPiece, ToolCall
from registry.testing import ScriptedModel
from registry.tools.tool import Observation

pytestmark = pytest.mark.anyio

PLAN = Plan(goal="g", steps=(Step(id="a", task="t"),))
STEP = PLAN.steps[0]
RESULT = Succeeded(step="a", output="out")
WANTED = ToolCall(id="1", name="add", arguments="{}")
SEEN = Observation(call_id="1", name="add", text="2")

Asking = Callable[[Hook], Awaitable[object]]

EVERY_METHOD = pytest.mark.parametrize(
    ("ask", "unchanged"),
    [
        pytest.param(lambda hook: hook.on_plan(PLAN), PLAN, id="on_plan"),
        pytest.param(lambda hook: hook.before_step(STEP), STEP, id="before_step"),
        pytest.param(lambda hook: hook.after_step(RESULT), RESULT, id="after_step"),
        pytest.param(lambda hook: hook.before_iteration(1, NO_CALL), None, id="before_iteration"),
        pytest.param(lambda hook: hook.should_stream(1), False, id="should_stream"),
        pytest.param(lambda hook: hook.on_stream(TextPiece("x"), NO_CALL), None, id="on_stream"),
        pytest.param(lambda hook: hook.after_iteration(1, Reply(), NO_CALL), None, id="after_iteration"),
        pytest.param(lambda hook: hook.before_tool(WANTED, NO_CALL), WANTED, id="before_tool"),
        pytest.param(lambda hook: hook.after_tool(SEEN, NO_CALL), SEEN, id="after_tool"),
    ],
)


def failing(error: Exception, base: type[Hook] = Hook) -> Hook:
    """A hook of which every method raises."""

    def method() -> Callable[..., Awaitable[None]]:
        async def fail(self: Hook, *facts: object) -> None:
            raise error

        return fail

    return type("Failing", (base,), {name: method() for name in vars(Hook) if not name.startswith("_")})()


class Reports:
    """What observers were reported for."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def __call__(self, what: str, error: Exception) -> None:
        self.said.append(f"{what}: {error}")


def composed(*hooks: Hook) -> CompositeHook:
    return CompositeHook(hooks, report=Reports())


@EVERY_METHOD
async def test_a_plain_hook_changes_nothing(ask: Asking, unchanged: object) -> None:
    """A hook that overrides nothing lets everything through, alone and among others."""
    assert unchanged == await ask(Hook())
    assert unchanged == await ask(composed(Hook(), Observer(), Hook()))
    assert unchanged == await ask(composed())


@EVERY_METHOD
@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ValueError("broken"), id="by accident"),
        pytest.param(Unreachable("policy", "broken"), id="with an error of ours"),
        pytest.param(DeniedByHook("it", "broken"), id="on purpose"),
    ],
)
async def test_a_policy_that_raises_has_denied(ask: Asking, unchanged: object, error: Exception) -> None:
    """Whatever a policy raises, and wherever, comes out as a denial that says why."""
    with pytest.raises(DeniedByHook, match="broken"):
        await ask(composed(failing(error)))


@EVERY_METHOD
async def test_an_observer_that_raises_is_reported(ask: Asking, unchanged: object) -> None:
    """An observer stops nothing: its error is reported with its place, and the hooks after it are asked."""
    reports, looked = Reports(), []

    class Looks(Observer):
        def __getattribute__(self, name: str) -> object:
            looked.append(name)
            return super().__getattribute__(name)

    hooks = CompositeHook([failing(ValueError("broken"), Observer), Looks()], report=reports)

    assert unchanged == await ask(hooks)
    assert 1 == len(reports.said)
    assert reports.said[0].startswith("Failing at ")
    assert reports.said[0].endswith(": broken")
    assert looked


async def test_an_observer_with_a_wrong_signature_is_reported() -> None:
    """Even one that can't be called stops nothing."""

    class Wrong(Observer):
        async def on_plan(self) -> None:
            """Takes nothing."""

    reports = Reports()

    assert PLAN == await CompositeHook([Wrong()], report=reports).on_plan(PLAN)
    assert "positional argument" in reports.said[0]


async def test_an_observer_changes_nothing() -> None:
    """What an observer returns is ignored."""

    class Meddler(Observer):
        async def after_tool(self, observation: Observation, call: Call) -> Observation:
            return Observation(call_id="2", name="other", text="changed")

        async def should_stream(self, iteration: int) -> bool:
            return True

    hooks = composed(Meddler())

    assert SEEN == await hooks.after_tool(SEEN, NO_CALL)
    assert not await hooks.should_stream(1)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        pytest.param({"data": {"client": threading.Lock()}}, "its answer.data.client is a lock", id="nothing that can be stored"),
        pytest.param({"text": 5}, "its answer.text is not what it must be", id="of another type"),
        pytest.param(None, "its answer is None", id="nothing"),
    ],
)
async def test_what_cannot_be_stored_is_refused_where_it_is_put_in(change: dict[str, object] | None, found: str) -> None:
    """A rewrite that no journal could hold is a denial that names what and where, and not an error deep in the run."""

    class Rewrites(Hook):
        async def after_tool(self, observation: Observation, call: Call) -> Observation:
            return replace(observation, **change) if change is not None else None

    with pytest.raises(DeniedByHook, match=found):
        await composed(Rewrites()).after_tool(SEEN, NO_CALL)


class Adds(Hook):
    """Adds its mark to a step's task and to its output."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    async def before_step(self, step: AnyStep) -> AnyStep:
        return step.model_copy(update={"task": step.task + self.mark})

    async def after_step(self, result: StepResult) -> StepResult:
        assert isinstance(result, Succeeded)
        return Succeeded(step=result.step, output=result.output + self.mark)


async def test_rewrites_chain() -> None:
    """Each hook gets what the one before made of it, in the order given."""
    hooks = composed(Adds("1"), Observer(), Adds("2"))

    assert "t12" == (await hooks.before_step(STEP)).task
    assert Succeeded(step="a", output="out12") == await hooks.after_step(RESULT)


async def test_the_first_denial_ends() -> None:
    """Hooks after one that denied are not asked."""
    asked = []

    class Counts(Hook):
        async def before_tool(self, wanted: ToolCall, call: Call) -> ToolCall:
            asked.append(wanted.name)
            return wanted

    with pytest.raises(DeniedByHook):
        await composed(Counts(), failing(ValueError()), Counts()).before_tool(WANTED, NO_CALL)

    assert ["add"] == asked


async def test_any_hook_makes_an_iteration_stream() -> None:
    """One yes is enough, wherever it stands, and all are asked."""

    class Streams(Hook):
        async def should_stream(self, iteration: int) -> bool:
            return iteration == 2

    assert [False, True] == [await composed(Hook(), Streams(), Hook()).should_stream(iteration) for iteration in (1, 2)]


async def test_every_hook_hears_the_pieces() -> None:
    """`on_stream` reaches all, in order."""
    heard: list[tuple[int, Piece]] = []

    class Listens(Hook):
        def __init__(self, place: int) -> None:
            self.place = place

        async def on_stream(self, piece: Piece, call: Call) -> None:
            heard.append((self.place, piece))

    await composed(Listens(1), Listens(2)).on_stream(TextPiece("x"), NO_CALL)

    assert [(1, TextPiece("x")), (2, TextPiece("x"))] == heard


async def test_a_policy_may_choose_the_sentence_for_the_model() -> None:
    """A `ToolDenied` from `before_tool` passes as it is; anywhere else it is a denial like any other."""
    hooks = composed(failing(ToolDenied("add", "not today")))

    with pytest.raises(ToolDenied, match="not today"):
        await hooks.before_tool(WANTED, NO_CALL)
    with pytest.raises(DeniedByHook, match="not today"):
        await hooks.before_step(STEP)


async def test_chains_nest() -> None:
    """A chain in a chain behaves like its hooks in its place, denials included."""
    inner = composed(Adds("2"), failing(DagwrightError("no"), Observer))

    assert "t123" == (await composed(Adds("1"), inner, Adds("3")).before_step(STEP)).task
    with pytest.raises(DeniedByHook, match="a hook refused step 'a': ValueError: no"):
        await composed(composed(failing(ValueError("no")))).before_step(STEP)


async def test_a_single_hook_gets_the_same_door(capfd: pytest.CaptureFixture[str]) -> None:
    """A hook given alone denies, and an observer given alone is isolated, as in a chain."""
    chain = composed()

    with pytest.raises(DeniedByHook):
        await as_one(failing(ValueError())).on_plan(PLAN)
    assert PLAN == await as_one(failing(ValueError("seen"), Observer)).on_plan(PLAN)
    assert "seen" in capfd.readouterr().err
    assert PLAN == await as_one(None).on_plan(PLAN)
    assert chain is as_one(chain)


async def test_a_hook_of_an_agent_hears_its_streamed_answer() -> None:
    """The pieces of phase two go to `on_stream` as those of a streamed iteration do; the whole reply is no piece."""
    heard: list[tuple[str, Piece]] = []

    class Listens(Hook):
        async def on_stream(self, piece: Piece, call: Call) -> None:
            heard.append((call.purpose, piece))

    with ScriptedModel(["short", "long answer"]) as model:
        agent = ReActAgent(model, hooks=Listens())
        async with aclosing(agent.stream_answer(await agent.run("go"))) as pieces:
            shown = [piece async for piece in pieces]

    assert [("synthesis", TextPiece("long ")), ("synthesis", TextPiece("answer"))] == heard
    assert [piece for _, piece in heard] == shown[:-1]
