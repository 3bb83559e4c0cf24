"""From a neutral Request to the bytes that the Messages API reads.

The system text stands apart, and the two sides take turns: neighbours of one side are sent as one turn. The results of calls
come first in theirs, for the transcripts that are legal here have nothing between calls and results. Marks at the end of
the tools, the system text and the conversation ask the endpoint to cache what comes before them, so that a lap pays in full
only for what is new in it.

Thinking is never sent back: it would have to bear the endpoint's signature, for which our messages have no place.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

import orjson

from registry.errors import Refused
from registry.messages import AssistantMessage, Json, Message, Request, SystemMessage, ToolMessage, ToolSpec, UserMessage
from registry.wire.lower import REMEMBERED, object_text
from registry.wire.surrogates import encoded, mended

_CACHED = {"cache_control": {"type": "ephemeral"}}
_CHOICES = {"auto": "auto", "required": "any", "none": "none"}
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def lower(
    request: Request, *, model: str, endpoint: str, max_output: int, thinking: int | None = None, stream: bool = False
) -> bytes:
    """The body of one request to `model`.

    `max_output` caps a reply for which the request names no cap, in tokens. `thinking` is how many tokens it may think,
    beyond that cap. Raises Refused for a response format.
    """
    if request.response_format is not None:
        raise Refused(endpoint, "the Messages API has none", parameter="response_format")
    body: dict[str, Json] = {"model": model, "max_tokens": request.max_tokens or max_output}
    if stream:
        body["stream"] = True
    if thinking and _may_think(request):
        body["max_tokens"] += thinking
        body["thinking"] = {"type": "enabled", "budget_tokens": thinking}
    elif request.temperature is not None:  # a thinking model takes none
        body["temperature"] = request.temperature
    body |= _offered(request) if request.tools else _stand_ins(request.messages)
    first = request.messages[0]
    if isinstance(first, SystemMessage) and first.text.strip():
        body["system"] = [orjson.Fragment(encoded({**_text(first.text), **_CACHED}))]
    body["messages"] = _turns(request.messages)
    return orjson.dumps(body)


def _may_think(request: Request) -> bool:
    """Whether the API allows thinking here: not under a forced choice, nor amid calls whose thinking was not kept."""
    turns = (message for message in reversed(request.messages) if not isinstance(message, UserMessage) and _blocks(message))
    return request.tool_choice in ("auto", "none") and not isinstance(next(turns, None), ToolMessage)


def _offered(request: Request) -> dict[str, Json]:
    """The tools and the choice among them; "auto" is what the endpoint assumes."""
    *tools, last = request.tools
    offered: dict[str, Json] = {"tools": [*map(_tool, tools), orjson.Fragment(encoded({**_described(last), **_CACHED}))]}
    if request.tool_choice not in _CHOICES:
        offered["tool_choice"] = {"type": "tool", "name": request.tool_choice}
    elif request.tool_choice != "auto":
        offered["tool_choice"] = {"type": _CHOICES[request.tool_choice]}
    return offered


def _stand_ins(messages: Sequence[Message]) -> dict[str, Json]:
    """Tools for a transcript with calls that comes without any: endpoints refuse calls of tools that are not described."""
    called = {call.name: None for message in messages if isinstance(message, AssistantMessage) for call in message.calls}
    tools = [{"name": _plain(name), "input_schema": {"type": "object"}} for name in called]
    return {"tools": tools, "tool_choice": {"type": "none"}} if tools else {}


def _turns(messages: Sequence[Message]) -> list[dict[str, Json]]:
    turns: list[dict[str, Json]] = []
    last: Message | None = None
    for message in messages:
        if not (blocks := _encoded(message)):
            continue
        role, last = "assistant" if isinstance(message, AssistantMessage) else "user", message
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": [*blocks]})
    if last is not None:
        turns[-1]["content"][-1] = orjson.Fragment(encoded({**_blocks(last)[-1], **_CACHED}))
    return turns


@lru_cache(REMEMBERED)
def _encoded(message: Message) -> tuple[orjson.Fragment, ...]:
    return tuple(orjson.Fragment(encoded(block)) for block in _blocks(message))


def _blocks(message: Message) -> list[dict[str, Json]]:
    """What a message says, none where it says nothing: a blank text is refused, and so is a space at the end of a prompt."""
    match message:
        case SystemMessage():
            return []
        case UserMessage(text=text):
            return [_text(text)] if text.strip() else []
        case ToolMessage(call_id=call, text=text):
            said = {"content": text} if text.strip() else {}
            return [{"type": "tool_result", "tool_use_id": _plain(call), **said}]
        case AssistantMessage(text=text, calls=calls):
            said_first = [_text(text.rstrip())] if text.strip() else []
            return said_first + [
                {
                    "type": "tool_use",
                    "id": _plain(call.id),
                    "name": _plain(call.name),
                    "input": orjson.Fragment(mended(object_text(call.arguments))),
                }
                for call in calls
            ]


def _text(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}


def _plain(name: str) -> str:
    """An id or a name of any model as one that this API takes; different ones stay different."""
    return _ILLEGAL.sub(lambda letter: f"_{ord(letter[0]):x}_", name)


@lru_cache(REMEMBERED)
def _tool(tool: ToolSpec) -> orjson.Fragment:
    return orjson.Fragment(encoded(_described(tool)))


def _described(tool: ToolSpec) -> dict[str, Json]:
    return {"name": tool.name, "description": tool.description, "input_schema": {"type": "object", **tool.parameters}}
