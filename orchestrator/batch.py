"""One batch of tool calls: exactly one observation for each call, in call order, whatever happens."""

from collections.abc import Iterator, Sequence
from functools import partial

import anyio
from anyio.lowlevel import checkpoint_if_cancelled
from msgspec.structs import replace

from orchestrator.errors import DeniedByHook, StepError
from orchestrator.hooks import Hook
from orchestrator.journalled import JournalledTools, Turn
from orchestrator.unwrapping import sole_error
from orchestrator.waiting import Waiting
from registry.calls import Call
from registry.errors import ToolDenied
from registry.messages import ToolCall
from registry.tools.tool import Observation

Observed = Observation | Waiting


async def observe_all(tools: JournalledTools, wanted: Sequence[ToolCall], call: Call, hooks: Hook) -> tuple[Observed, ...]:
    """Calls in a row that may go side by side do, as many at a time as the tools' width, and begin in order; all others run alone
    and in order. None starts after one that waits, but what the later ones will wait for is among what is returned, so that a
    person can say it all at once.

    Raises the `StepError` of a call that is not to be gone without.
    """
    if len(wanted) == 1:  # as mostly: there is nothing to arrange
        alone = await observe_one(tools, wanted[0], call, hooks)
        await checkpoint_if_cancelled()
        return (alone,)
    keyed = [tools.keyed(each, call) for each in wanted]
    seen: list[Observed] = []
    for group in _groups(tools, keyed):
        if any(isinstance(each, Waiting) for each in seen):
            seen.extend(await _foreseen(tools, group, hooks))
        elif len(group) == 1:
            seen.append(await _observe(tools, *_after(seen, group)[0], hooks))
        else:
            seen.extend(await _observe_side_by_side(tools, _after(seen, group), hooks))
        await checkpoint_if_cancelled()  # a tool may have caught what was meant for us
    return tuple(seen)


async def observe_one(tools: JournalledTools, wanted: ToolCall, call: Call, hooks: Hook) -> Observed:
    """A batch of one call, for those who begin nothing after it without listening whether they are cancelled."""
    return await _observe(tools, *tools.keyed(wanted, call), hooks)


def _groups(tools: JournalledTools, keyed: Sequence[tuple[ToolCall, Call]]) -> Iterator[list[tuple[ToolCall, Call]]]:
    group: list[tuple[ToolCall, Call]] = []
    for each in keyed:
        if _may_overlap(tools, each[0]):
            group.append(each)
            continue
        if group:
            yield group
            group = []
        yield [each]
    if group:
        yield group


def _after(seen: Sequence[Observed], group: Sequence[tuple[ToolCall, Call]]) -> Sequence[tuple[ToolCall, Call]]:
    """The calls, which can read what came of those before them."""
    earlier = tuple(each for each in seen if isinstance(each, Observation))
    return [(wanted, replace(call, earlier=earlier)) for wanted, call in group] if earlier else group


def _may_overlap(tools: JournalledTools, wanted: ToolCall) -> bool:
    return wanted.name not in tools.tools or tools.tools.get(wanted.name).traits.side_by_side


async def _observe_side_by_side(tools: JournalledTools, group: Sequence[tuple[ToolCall, Call]], hooks: Hook) -> list[Observed]:
    seen: dict[int, Observed] = {}
    failed: dict[int, StepError] = {}
    left, begun = iter(enumerate(group)), [anyio.Event() for _ in group]

    async def turn(place: int) -> None:
        if place:
            await begun[place - 1].wait()
        begun[place].set()

    async def work() -> None:
        for place, (wanted, call) in left:
            try:
                seen[place] = await _observe(tools, wanted, call, hooks, partial(turn, place))
            except StepError as error:  # the others are under way and end by themselves
                failed[place] = error
            await turn(place)

    with sole_error():
        async with anyio.create_task_group() as task_group:
            for _ in range(min(len(group), tools.tools.width)):
                task_group.start_soon(work)
    if failed:
        raise failed[min(failed)]
    return [seen[place] for place in range(len(group))]


async def _foreseen(tools: JournalledTools, group: Sequence[tuple[ToolCall, Call]], hooks: Hook) -> list[Waiting]:
    waits = []
    for wanted, call in group:
        try:
            waits.append(await tools.foresee(await hooks.before_tool(wanted, call), call))
        except (ToolDenied, StepError):
            continue  # it will be said when it is the call's turn
    return [each for each in waits if each is not None]


async def _observe(tools: JournalledTools, wanted: ToolCall, call: Call, hooks: Hook, turn: Turn | None = None) -> Observed:
    known = tools.recall(call)
    try:
        if known is not None:  # providers name their calls anew in each attempt, and this may be the outcome of an earlier one
            seen = replace(known, call_id=wanted.id)
        else:
            fresh = await tools.observe(await hooks.before_tool(wanted, call), call, turn=turn)
            if isinstance(fresh, Waiting):
                return fresh
            seen = fresh
    except (ToolDenied, DeniedByHook) as denial:
        seen = _denied(wanted, denial)
        await tools.observed(seen, call)
    try:
        return await hooks.after_tool(seen, call)
    except DeniedByHook as denial:
        return _denied(wanted, denial)


def _denied(wanted: ToolCall, denial: ToolDenied | DeniedByHook) -> Observation:
    return Observation(call_id=wanted.id, name=wanted.name, text=f"error: {denial}", error="ToolDenied")
