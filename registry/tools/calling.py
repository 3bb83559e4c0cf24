"""The one door to tools: code that is not ours is called here, and whatever happens becomes an observation."""

import math
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from functools import lru_cache, partial
from types import coroutine
from typing import Any, TypeVar

import anyio

from registry.calls import Call
from registry.errors import BadArguments, ToolDenied, ToolError, ToolFailed, ToolTimedOut, TryAgain
from registry.messages import Json, ToolCall
from registry.origins import TRUSTED, Origins
from registry.tools.arguments import check_arguments, read_arguments, shortened
from registry.tools.artifacts import Artifact, artifacts_in
from registry.tools.function import FunctionTool
from registry.tools.registry import LONGEST_NAME, ToolRegistry
from registry.tools.rendering import as_utf8, rendered
from registry.tools.tool import ABSENT, Absence, Observation, Tool

T = TypeVar("T")

_NONE_MADE: tuple[Artifact, ...] = ()

_Answer = tuple[str, Json, tuple[Artifact, ...]]

EMPTY_RESULT = "empty result"
"""What a model reads when a tool returned nothing."""


async def call_tool(tools: ToolRegistry, wanted: ToolCall, call: Call) -> Observation:
    """Run what a model asked for. Always one observation, of errors too, and of a tool that would end the program.

    Only a cancellation passes, and a KeyboardInterrupt.
    """
    name = shortened(tools.meant(wanted.name), LONGEST_NAME)
    began = anyio.current_time()
    data, error, origins, made = None, None, TRUSTED, _NONE_MADE
    try:
        tool = tools.get(name)
        if not tool.traits.trusted:
            origins = _origin(name)
        args = read_arguments(tool.spec, wanted.arguments)
        if not isinstance(tool, FunctionTool):  # which checks for itself, by its signature
            check_arguments(tool.spec, args)
        text, data, made = await _answer(tool, args, call, began)
    except (Exception, SystemExit, BaseExceptionGroup) as raised:  # noqa: BLE001 (a tool may raise anything; the model reads it)
        reason = as_tool_error(name, raised)
        error = type(reason).__name__
        text = as_utf8(str(reason)) or error
    return Observation(
        call_id=wanted.id,
        name=name,
        text=text,
        error=error,
        data=data,
        artifacts=made,
        origins=origins,
        seconds=anyio.current_time() - began,
    )


async def ask_tool(tool: Tool, wanted: ToolCall, call: Call) -> Observation | Absence:
    """What became of the call under `call.key`, by the record of a tool that has a probe: its outcome, or `ABSENT`.

    Raises a `ToolError` when the probe can't say.
    """
    name, probe, began = tool.spec.name, tool.traits.probe, anyio.current_time()
    assert probe is not None
    try:
        found = await _in_time(lambda: probe(call.key), tool, call, began)
    except (Exception, SystemExit, BaseExceptionGroup) as raised:
        raise as_tool_error(name, raised) from raised
    if found is ABSENT:
        return ABSENT
    if found is None:
        raise ToolFailed(name, "its probe returned None, which is neither a result nor ABSENT")
    text, data = _shown(tool, found)
    origins = TRUSTED if tool.traits.trusted else _origin(name)
    return Observation(
        call_id=wanted.id,
        name=name,
        text=text,
        data=data,
        artifacts=artifacts_in(found),
        origins=origins,
        seconds=anyio.current_time() - began,
    )


@lru_cache(maxsize=1024)
def _origin(name: str) -> Origins:
    return (f"tool:{name}",)


def due_arguments(tool: Tool, text: str) -> dict[str, Json]:
    """The arguments that the tool is going to be given. Raises the `ToolError` of a call that can't run."""
    args = read_arguments(tool.spec, text)
    if isinstance(tool, FunctionTool):
        tool.check(args)
    else:
        check_arguments(tool.spec, args)
    return args


async def _answer(tool: Tool, args: Mapping[str, Json], call: Call, now: float) -> _Answer:
    """What it said, after as many tries as the tool's traits allow: at one that fails, and at one that returns nothing."""
    traits = tool.traits
    retries, more = (traits.retries, traits.again_if_empty) if traits.repeatable else (0, 0)
    left = retries
    while True:
        try:
            result = await _in_time(partial(tool.run, args, call), tool, call, now)
        except (BadArguments, ToolDenied, ToolFailed, TryAgain):
            raise
        except Exception:
            if left == 0:
                raise
            left -= 1
        else:
            text, data = _shown(tool, result)
            if text and not text.isspace():
                return text, data, _NONE_MADE if isinstance(result, str) else artifacts_in(result)
            if more == 0:
                return EMPTY_RESULT, None, _NONE_MADE
            left, more = retries, more - 1
        now = anyio.current_time()


def _shown(tool: Tool, result: object) -> tuple[str, Json]:
    shown = rendered(result)
    if shown is None:
        what = f"a value of type {type(result).__name__}, which can't be shown as text"
        raise ToolFailed(tool.spec.name, f"it ran to its end, but what it returned is {what}")
    return shown


async def _in_time(work: Callable[[], Awaitable[T]], tool: Tool, call: Call, now: float) -> T:
    limit = tool.traits.timeout
    if limit is None and call.deadline is None:
        return await work()
    left = math.inf if call.deadline is None else max(0.0, call.deadline - now)
    limit = left if limit is None else min(limit, left)
    if limit > 0:
        with anyio.CancelScope() as scope:
            return await _armed(work(), scope, now + limit)
    goes_on = limit > 0 and isinstance(tool, FunctionTool) and tool.in_thread
    raise ToolTimedOut(tool.spec.name, limit, goes_on=goes_on)


@coroutine
def _armed(work: Awaitable[T], scope: anyio.CancelScope, deadline: float) -> Generator[Any, Any, T]:
    """What the work comes to. The scope, which is the innermost around it, gets the deadline when the work first waits.

    Work that is quick mostly never does, and a timer costs more than all else that is done for it.
    """
    steps = work.__await__()
    try:
        wanted = next(steps)
        scope.deadline = deadline
        while True:
            try:
                given = yield wanted
            except BaseException as thrown:  # noqa: BLE001 (it is for the work, and comes out of it again)
                wanted = steps.throw(thrown)
            else:
                wanted = steps.send(given)
    except StopIteration as end:
        result: T = end.value
        return result


def as_tool_error(name: str, raised: BaseException) -> ToolError:
    """The error as the model is to read it. A group is told by what is in it; a traceback is never told.

    A group with a cancellation or a KeyboardInterrupt in it is not for models, and is raised.
    """
    leaves = list(_leaves(raised))
    if not all(isinstance(leaf, Exception | SystemExit) for leaf in leaves):
        raise raised
    if len(leaves) == 1 and isinstance(leaves[0], ToolError):
        return leaves[0]
    return ToolFailed(name, told(raised))


def told(raised: BaseException) -> str:
    """What was raised, in a sentence: its kind and its words, and of a group those of all that is in it."""
    return "; ".join(map(_sentence, _leaves(raised)))


def _leaves(raised: BaseException) -> Iterator[BaseException]:
    if isinstance(raised, BaseExceptionGroup):
        for member in raised.exceptions:
            yield from _leaves(member)
    else:
        yield raised


def _sentence(raised: BaseException) -> str:
    try:
        return f"{type(raised).__name__}: {raised}".removesuffix(": ")
    except Exception:  # noqa: BLE001 (even saying what happened runs code that is not ours)
        return type(raised).__name__
