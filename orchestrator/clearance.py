"""Whether a tool call may run: what a person has to say to it first, and what is known of one that was begun before."""

from orchestrator.errors import OutcomeUnknown, Rejected
from orchestrator.logs import report
from orchestrator.state import RunState
from orchestrator.waiting import Decision, Waiting
from registry.calls import Call, InDoubt
from registry.errors import ToolDenied, ToolError
from registry.messages import Json, ToolCall
from registry.tools.calling import ask_tool, due_arguments
from registry.tools.rendering import escaped, visible
from registry.tools.tool import ABSENT, Absence, Observation, Tool

HAPPENED = "It happened. What came of it is not known."
SKIPPED = "Nobody knows whether it happened. It was not repeated."

InPlace = Observation | Waiting
"""What stands in the place of running a call."""


async def clearance(tool: Tool, wanted: ToolCall, call: Call, state: RunState) -> InPlace | None:
    """None lets the call run: nothing but a recorded word, of a person or of the tool, does so for one that is not free to.

    Raises `ToolDenied` when a person said no, and `OutcomeUnknown` when the step is to fail.
    """
    traits, begun = tool.traits, state.begun.get(call.key, 0)
    if traits.answered_by_user or (traits.requires_approval and not begun):
        return _asked_first(tool, wanted, call, state)
    # What is safe to repeat is the same effect under the same key, and was allowed when it began.
    return await _doubted(tool, wanted, call, state) if begun and not traits.repeatable else None


def _asked_first(tool: Tool, wanted: ToolCall, call: Call, state: RunState) -> InPlace | None:
    try:
        args = due_arguments(tool, wanted.arguments)
    except ToolError as error:  # nobody is asked about what can't run
        return Observation(call_id=wanted.id, name=wanted.name, text=str(error), error=type(error).__name__)
    if not tool.traits.answered_by_user:
        return _allowed(tool, args, call, state)
    question = args.get("question")
    what = question if isinstance(question, str) else visible(args)
    waiting = Waiting(step=call.label, key=call.key, what=what, kind="question")
    answered = state.answers.get(waiting.id)
    return waiting if answered is None else _said(wanted, answered.text)


def _allowed(tool: Tool, args: Json, call: Call, state: RunState) -> Waiting | None:
    """A leave is used up when the call begins: for another beginning there must be another."""
    begun = state.begun[call.key]
    what = f"{tool.spec.name} with {visible(args)}{', again: it was begun before, and may have happened' if begun else ''}"
    waiting = Waiting(step=call.label, key=call.key, what=what, kind="approval", nth=1 + begun)
    answered = state.answers.get(waiting.id)
    if answered is None:
        return waiting
    if answered.decision == "approve":
        return None
    raise ToolDenied(tool.spec.name, str(Rejected(answered.text, answered.by)))


async def _doubted(tool: Tool, wanted: ToolCall, call: Call, state: RunState) -> InPlace | None:
    """A person's word counts most, then the tool's own, then the policy of the plan."""
    what = f"{wanted.name} was begun with {escaped(wanted.arguments)}, and nobody knows whether it happened"
    waiting = Waiting(step=call.label, key=call.key, what=what, kind="in_doubt", nth=state.begun[call.key])
    answered = state.answers.get(waiting.id)
    if answered is not None:
        return _decided(wanted, answered.decision, answered.text)
    known = await _remembered(tool, wanted, call)
    if known is not None:
        return None if known is ABSENT else known
    if call.in_doubt in ("ask", "probe"):
        return waiting
    if call.in_doubt != "retry" or not tool.traits.requires_approval:
        return _decided(wanted, call.in_doubt)
    try:
        return _asked_first(tool, wanted, call, state)
    except ToolDenied:  # that it be repeated: what was begun may have happened all the same
        return _said(wanted, SKIPPED)


def _decided(wanted: ToolCall, decision: Decision | InDoubt, text: str = "") -> Observation | None:
    match decision:
        case "happened":
            return _said(wanted, text or HAPPENED)
        case "skip":
            return _said(wanted, SKIPPED)
        case "fail":
            raise OutcomeUnknown(wanted.name)
        case _:  # again
            return None


async def _remembered(tool: Tool, wanted: ToolCall, call: Call) -> Observation | Absence | None:
    """What the tool knows of the call; None where it is not to be asked, or can't say."""
    if tool.traits.probe is None or (tool.traits.effect != "transactional" and call.in_doubt != "probe"):
        return None
    try:
        return await ask_tool(tool, wanted, call)
    except ToolError as error:
        report(f"the probe of {tool.spec.name!r}", error)
        return None


def _said(wanted: ToolCall, text: str) -> Observation:
    return Observation(call_id=wanted.id, name=wanted.name, text=text)
