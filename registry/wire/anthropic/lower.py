"""From a neutral Request to the bytes that the Messages API reads.

The system text stands apart, and the two sides take turns: neighbours of one side are sent as one turn. The results of calls
come first in theirs, for the transcripts that are legal here have nothing between calls and results. Marks at the end of
the tools, the system text and the conversation ask the endpoint to cache what comes before them, so that a lap pays in full
only for what is new in it.

Thoughts go back as they came, to the endpoint that signed them, where the model may think again.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

import orjson

from registry.errors import Refused
from registry.messages import (
    AssistantMessage,
    Json,
    Message,
    Request,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from registry.wire.anthropic.thoughts import Thought, placed
from registry.wire.lower import REMEMBERED, object_text
from registry.wire.surrogates import encoded, mended

_CACHED = {"cache_control": {"type": "ephemeral"}}
LONGEST_NAME = 128
"""Characters of a tool's name that the API takes."""

_CHOICES = {"auto": "auto", "required": "any", "none": "none"}
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def lower(
    request: Request, *, model: str, endpoint: str, max_output: int, thinking: int | None = None, stream: bool = False
) -> bytes:
    """The body of one request to `model`, whose tools have names that the API takes.

    `max_output` caps a reply for which the request names no cap, in tokens. `thinking` is how many tokens it may think,
    beyond that cap. Raises Refused for a response format.
    """
    if request.response_format is not None:
        raise Refused(endpoint, "the Messages API has none", parameter="response_format")
    body: dict[str, Json] = {"model": model, "max_tokens": request.max_tokens or max_output}
    if stream:
        body["stream"] = True
    signer = endpoint if thinking and _may_think(request, endpoint) else ""
    if thinking and signer:
        body["max_tokens"] += thinking
        body["thinking"] = {"type": "enabled", "budget_tokens": thinking}
    elif request.temperature is not None:  # a thinking model takes none
        body["temperature"] = request.temperature
    body |= _offered(request) if request.tools else _stand_ins(request.messages)
    first = request.messages[0]
    if isinstance(first, SystemMessage) and first.text.strip():
        body["system"] = [orjson.Fragment(encoded({**_text(first.text), **_CACHED}))]
    body["messages"] = _turns(request.messages, signer)
    return orjson.dumps(body)


def _may_think(request: Request, endpoint: str) -> bool:
    """Whether the API allows thinking here: not under a forced choice, nor amid calls that did not begin with a thought."""
    if request.tool_choice not in ("auto", "none"):
        return False
    said = [message for message in request.messages if _encoded(message, "")]
    while said and isinstance(said[-1], UserMessage):
        said.pop()
    if not said or not isinstance(said[-1], ToolMessage):
        return True
    amid = takewhile(lambda message: not isinstance(message, UserMessage), reversed(said))
    *_, first = amid
    return isinstance(first, AssistantMessage) and _begins_with_thought(first, endpoint)


def _begins_with_thought(message: AssistantMessage, endpoint: str) -> bool:
    return any(thought.text == thought.calls == 0 for thought in placed(message.opaque, endpoint))


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
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in called]
    return {"tools": tools, "tool_choice": {"type": "none"}} if tools else {}


def _turns(messages: Sequence[Message], signer: str) -> list[dict[str, Json]]:
    turns: list[dict[str, Json]] = []
    last: Message | None = None
    for message in messages:
        if not (blocks := _encoded(message, signer)):
            continue
        role, last = "assistant" if isinstance(message, AssistantMessage) else "user", message
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": [*blocks]})
    if last is not None:
        turns[-1]["content"][-1] = orjson.Fragment(encoded({**_blocks(last, signer)[-1], **_CACHED}))
    return turns


@lru_cache(REMEMBERED)
def _encoded(message: Message, signer: str) -> tuple[orjson.Fragment, ...]:
    return tuple(orjson.Fragment(encoded(block)) for block in _blocks(message, signer))


def _blocks(message: Message, signer: str) -> list[dict[str, Json]]:
    """What a message says, none where it says nothing: a blank text is refused, and so is a space at the end of a prompt.

    Of its thoughts those that `signer` signed are said too.
    """
    match message:
        case SystemMessage():
            return []
        case UserMessage(text=text):
            return _texts(text)
        case ToolMessage(call_id=call, text=text):
            said = {"content": text} if text.strip() else {}
            return [{"type": "tool_result", "tool_use_id": _plain(call), **said}]
        case AssistantMessage(text=text, calls=calls):
            return _in_order(text.rstrip(), [_use(call) for call in calls], placed(message.opaque, signer))


def _in_order(text: str, calls: list[dict[str, Json]], thoughts: Sequence[Thought]) -> list[dict[str, Json]]:
    """Text, calls and thoughts, each thought where it stood. After the last thought something must follow."""
    blocks: list[dict[str, Json]] = []
    spoken = called = 0
    for thought in thoughts:
        if thought.text < len(text) or thought.calls < len(calls):
            blocks += [*_texts(text[spoken : thought.text]), *calls[called : thought.calls], thought.block]
            spoken, called = thought.text, thought.calls
    return [*blocks, *_texts(text[spoken:]), *calls[called:]]


def _use(call: ToolCall) -> dict[str, Json]:
    arguments = orjson.Fragment(mended(object_text(call.arguments)))
    return {"type": "tool_use", "id": _plain(call.id), "name": call.name, "input": arguments}


def _texts(text: str) -> list[dict[str, Json]]:
    return [_text(text)] if text.strip() else []


def _text(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}


def _plain(given: str) -> str:
    """An id of any model as one that this API takes; different ones stay different."""
    return _ILLEGAL.sub(lambda letter: f"_{ord(letter[0]):x}_", given)


@lru_cache(REMEMBERED)
def _tool(tool: ToolSpec) -> orjson.Fragment:
    return orjson.Fragment(encoded(_described(tool)))


def _described(tool: ToolSpec) -> dict[str, Json]:
    return {"name": tool.name, "description": tool.description, "input_schema": {"type": "object", **tool.parameters}}
