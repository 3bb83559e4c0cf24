"""Hooks: they may refuse or rewrite; events only tell.

A `Hook` is a policy and fails closed: to deny, raise; one that raises by accident has denied too. An `Observer` changes nothing
and stops nothing, whatever happens to it.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import ParamSpec, TypeVar

from orchestrator.errors import DeniedByHook
from orchestrator.logs import report
from planner import AnyStep, Plan
from planner.results import StepResult
from registry.calls import Call
from registry.errors import ToolDenied
from registry.messages import Piece, Reply, ToolCall
from registry.storable import unstorable
from registry.tools.tool import Observation

P = ParamSpec("P")
T = TypeVar("T")

Report = Callable[[str, Exception], None]
"""Told of an observer that failed: at what, and how."""


class Hook:
    """Override what you need. A method that returns something may return it rewritten; one that raises denies."""

    async def on_plan(self, plan: Plan) -> Plan:
        """Before a plan is walked."""
        return plan

    async def before_step(self, step: AnyStep) -> AnyStep:
        """Before a step's agent or tool is made. The id and the dependencies must stay."""
        return step

    async def after_step(self, result: StepResult) -> StepResult:
        """Before a step's result is written down."""
        return result

    async def before_iteration(self, iteration: int, call: Call) -> None:
        """Before each model call of a loop; iterations count from 1."""

    async def should_stream(self, iteration: int) -> bool:  # noqa: ARG002 (for those who override it)
        """Whether this iteration's reply is streamed to `on_stream`."""
        return False

    async def on_stream(self, piece: Piece, call: Call) -> None:
        """A piece of a streamed reply or of the answer."""

    async def after_iteration(self, iteration: int, reply: Reply, call: Call) -> None:
        """After the reply, before the tools that it asks for."""

    async def before_tool(self, wanted: ToolCall, call: Call) -> ToolCall:  # noqa: ARG002
        """Before a tool call is looked at. Raise `ToolDenied` to choose the sentence that the model reads."""
        return wanted

    async def after_tool(self, observation: Observation, call: Call) -> Observation:  # noqa: ARG002
        """After a call, also one that failed, was denied or was not valid."""
        return observation


class Observer(Hook):
    """A hook that only looks: what it returns is ignored, and what it raises is reported."""


class CompositeHook(Hook):
    """Several hooks in order. Rewrites chain, the first denial ends, `should_stream` is any.

    At each point only those are asked that have something of their own to say there.
    """

    def __init__(self, hooks: Sequence[Hook], *, report: Report) -> None:
        self._report = report
        self._at = {point: tuple(hook for hook in hooks if _speaks(hook, point)) for point in _POINTS}

    def speaks(self, point: str) -> bool:
        """Whether any hook has something of its own to say at this point, the name of a method."""
        return bool(self._at[point])

    async def on_plan(self, plan: Plan) -> Plan:
        for hook in self._at["on_plan"]:
            plan = await self._ask(hook, "the plan", plan, hook.on_plan, plan)
        return plan

    async def before_step(self, step: AnyStep) -> AnyStep:
        for hook in self._at["before_step"]:
            step = await self._ask(hook, f"step {step.id!r}", step, hook.before_step, step)
        return step

    async def after_step(self, result: StepResult) -> StepResult:
        for hook in self._at["after_step"]:
            result = await self._ask(hook, f"the result of step {result.step!r}", result, hook.after_step, result)
        return result

    async def before_iteration(self, iteration: int, call: Call) -> None:
        for hook in self._at["before_iteration"]:
            await self._ask(hook, f"iteration {iteration}", None, hook.before_iteration, iteration, call)

    async def should_stream(self, iteration: int) -> bool:
        streams = False
        for hook in self._at["should_stream"]:
            answer = await self._ask(hook, f"iteration {iteration}", False, hook.should_stream, iteration)
            streams = streams or answer is True  # a word such as "false" is not
        return streams

    async def on_stream(self, piece: Piece, call: Call) -> None:
        for hook in self._at["on_stream"]:
            await self._ask(hook, "a piece of a reply", None, hook.on_stream, piece, call)

    async def after_iteration(self, iteration: int, reply: Reply, call: Call) -> None:
        for hook in self._at["after_iteration"]:
            await self._ask(hook, f"the reply of iteration {iteration}", None, hook.after_iteration, iteration, reply, call)

    async def before_tool(self, wanted: ToolCall, call: Call) -> ToolCall:
        for hook in self._at["before_tool"]:
            wanted = await self._ask(hook, f"a call of {wanted.name!r}", wanted, hook.before_tool, wanted, call)
        return wanted

    async def after_tool(self, observation: Observation, call: Call) -> Observation:
        for hook in self._at["after_tool"]:
            what = f"the outcome of {observation.name!r}"
            observation = await self._ask(hook, what, observation, hook.after_tool, observation, call)
        return observation

    async def _ask(
        self, hook: Hook, what: str, given: T, method: Callable[P, Awaitable[T]], *args: P.args, **named: P.kwargs
    ) -> T:
        """The one door to a hook's code: an error of a policy is a denial, one of an observer is only reported."""
        try:
            answer = await method(*args, **named)
        except Exception as error:
            if isinstance(hook, Observer):
                self._report(f"{type(hook).__name__} at {what}", error)
                return given
            if isinstance(error, DeniedByHook):
                raise
            if isinstance(error, ToolDenied) and method == hook.before_tool:  # its sentence is for the model
                raise
            raise DeniedByHook(what, f"{type(error).__name__}: {error}") from error
        if isinstance(hook, Observer) or answer is given:
            return given
        found = unstorable(answer, "its answer") if answer is not None else "its answer is None"
        if found is not None:
            raise DeniedByHook(what, found)
        return answer


_POINTS = tuple(name for name, member in vars(Hook).items() if callable(member))


def _speaks(hook: Hook, point: str) -> bool:
    if isinstance(hook, CompositeHook):
        return hook.speaks(point)
    return getattr(getattr(hook, point), "__func__", None) is not getattr(Hook, point)


def as_one(hook: Hook | None) -> CompositeHook:
    """The hook behind the one door to its code, wherever it came from; None for no hooks."""
    return hook if isinstance(hook, CompositeHook) else CompositeHook(() if hook is None else (hook,), report=report)


def same_place(rewritten: AnyStep, step: AnyStep) -> AnyStep:
    """The step as a hook left it. The graph is fixed by now: a hook that moves the step in it has refused it."""
    if rewritten is step:
        return step
    if (rewritten.id, tuple(rewritten.depends_on)) != (step.id, tuple(step.depends_on)):
        raise DeniedByHook(f"step {step.id!r}", "it changed the step's id or dependencies")
    return rewritten
