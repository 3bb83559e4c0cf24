"""One batch of tool calls: exactly one observation for each call, in call order, whatever happens."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import anyio

from orchestrator.errors import DeniedByHook
from orchestrator.hooks import Hook
from orchestrator.journalled import JournalledTools
from orchestrator.unwrapping import sole_error
from orchestrator.waiting import Waiting
from registry.calls import Call
from registry.errors import ToolDenied
from registry.messages import ToolCall
from registry.tools.arguments import canonical_name
from registry.tools.tool import Observation

Observed = Observation | Waiting


async def observe_all(tools: JournalledTools, wanted: Sequence[ToolCall], call: Call, hooks: Hook) -> tuple[Observed, ...]:
    """Runs of calls that may go side by side do; all others run alone and in order. None starts after one in doubt."""
    named = [replace(each, name=canonical_name(each.name)) for each in wanted]
    keyed = [(each, replace(call, key=tools.key(each, call))) for each in named]
    seen: list[Observed] = []
    for group in _groups(tools, keyed):
        seen.extend(await _observe_group(tools, group, hooks))
        if any(isinstance(each, Waiting) for each in seen):
            break
    return tuple(seen)


def _groups(tools: JournalledTools, keyed: Sequence[tuple[ToolCall, Call]]) -> Iterator[list[tuple[ToolCall, Call]]]:
    group: list[tuple[ToolCall, Call]] = []
    for each in keyed:
        if _side_by_side(tools, each[0]):
            group.append(each)
            continue
        if group:
            yield group
            group = []
        yield [each]
    if group:
        yield group


def _side_by_side(tools: JournalledTools, wanted: ToolCall) -> bool:
    return wanted.name not in tools.tools or tools.tools.get(wanted.name).traits.side_by_side


async def _observe_group(tools: JournalledTools, group: Sequence[tuple[ToolCall, Call]], hooks: Hook) -> list[Observed]:
    if len(group) == 1:
        return [await _observe(tools, *group[0], hooks)]
    seen: dict[int, Observed] = {}

    async def one(place: int, wanted: ToolCall, call: Call) -> None:
        seen[place] = await _observe(tools, wanted, call, hooks)

    with sole_error():
        async with anyio.create_task_group() as task_group:
            for place, (wanted, call) in enumerate(group):
                task_group.start_soon(one, place, wanted, call)
    return [seen[place] for place in range(len(group))]


async def _observe(tools: JournalledTools, wanted: ToolCall, call: Call, hooks: Hook) -> Observed:
    known = tools.recall(call)
    # Providers name their calls anew in each attempt, and this may be the outcome of an earlier one.
    seen = await _fresh(tools, wanted, call, hooks) if known is None else replace(known, call_id=wanted.id)
    if isinstance(seen, Waiting):
        return seen
    try:
        return await hooks.after_tool(seen, call)
    except DeniedByHook as denial:
        return _denied(wanted, denial)


async def _fresh(tools: JournalledTools, wanted: ToolCall, call: Call, hooks: Hook) -> Observed:
    try:
        return await tools.observe(await hooks.before_tool(wanted, call), call)
    except (ToolDenied, DeniedByHook) as denial:
        seen = _denied(wanted, denial)
        await tools.observed(seen, call)
        return seen


def _denied(wanted: ToolCall, denial: ToolDenied | DeniedByHook) -> Observation:
    return Observation(call_id=wanted.id, name=wanted.name, text=f"error: {denial}", error="ToolDenied")
