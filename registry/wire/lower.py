"""From a neutral Request to the bytes that an OpenAI-compatible endpoint reads.

Messages come last in the body, so with the same settings the bytes of one lap are a prefix of the next one's. Each
message and each tool is encoded once and then reused, so a long transcript costs a copy per lap, not an encoding.
"""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache

import orjson
from msgspec.structs import replace

from registry.messages import (
    AssistantMessage,
    Json,
    Message,
    Request,
    ResponseFormat,
    Schema,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from registry.wire.rules import WireRules
from registry.wire.surrogates import encoded, mended

REMEMBERED = 2048
"""How many encoded messages are kept, and how many tools."""

OFFERS = 256
"""How many sets of tools are kept, each with a choice among them."""

_ANY_OBJECT = orjson.Fragment(b'{"type":"json_object"}')


def lower(request: Request, *, model: str, rules: WireRules, stream: bool = False) -> bytes:
    """The body of one request to `model`."""
    body: dict[str, Json] = {"model": model}
    if stream:
        body["stream"] = True
        if rules.stream_usage:
            body["stream_options"] = {"include_usage": True}
    if request.max_tokens is not None:
        body[rules.max_tokens_parameter] = min(request.max_tokens, rules.most_tokens or request.max_tokens)
    if request.temperature is not None and rules.temperature:
        body["temperature"] = request.temperature
    if request.response_format is not None:
        body["response_format"] = _format(request.response_format) if rules.schema_format else _ANY_OBJECT
    if request.tools:
        body |= _offered(request.tools, request.tool_choice, rules)
    body["messages"] = _encoded(_turns(request.messages, rules), rules)
    return orjson.dumps(body)


def _turns(messages: Iterable[Message], rules: WireRules) -> list[Message]:
    """The messages as the endpoint takes turns."""
    # An assistant's empty turn goes: strict endpoints refuse it, and nothing is lost without it.
    turns = [each for each in messages if each.text or not isinstance(each, AssistantMessage) or each.calls]
    if not rules.system_role:
        head = sum(isinstance(message, SystemMessage) for message in turns)
        spoken: list[Message] = [UserMessage(text=message.text) for message in turns[:head]]
        turns = [*_alternating([*spoken, *turns[head : head + 1]]), *turns[head + 1 :]]
    return _alternating(turns) if rules.alternating else turns


@lru_cache(OFFERS)
def _offered(offered: tuple[ToolSpec, ...], choice: str, rules: WireRules) -> Mapping[str, Json]:
    """The tools and the choice among them; "auto" is what every endpoint assumes."""
    tools = [_tool(tool) for tool in offered]
    if choice == "auto" or (choice == "required" and not rules.tool_choice):
        return {"tools": tools}
    if choice == "none" and not rules.tool_choice:
        return {}
    if choice in ("none", "required"):
        return {"tools": tools, "tool_choice": choice}
    if rules.named_tool_choice and rules.tool_choice:
        return {"tools": tools, "tool_choice": {"type": "function", "function": {"name": choice}}}
    alone = [_tool(tool) for tool in offered if tool.name == choice]
    return {"tools": alone, "tool_choice": "required"} if rules.tool_choice else {"tools": alone}


def _alternating(messages: Iterable[Message]) -> list[Message]:
    """Neighbours of one side as one message, with a blank line between what they say."""
    turns: list[Message] = []
    for message in messages:
        match turns[-1:], message:
            case [UserMessage() as before], UserMessage():
                turns[-1] = replace(before, text=f"{before.text}\n\n{message.text}")
            case [AssistantMessage() as before], AssistantMessage():
                said = "\n\n".join(text for text in (before.text, message.text) if text)
                turns[-1] = replace(message, text=said, reasoning=message.reasoning or before.reasoning)
            case _:
                turns.append(message)
    return turns


_remembered: dict[tuple[int, int], tuple[Message, WireRules, orjson.Fragment]] = {}
"""Messages on the wire, by identity: one stands in many requests, and hashing it each time would cost more than this."""


def _encoded(messages: Iterable[Message], rules: WireRules) -> list[orjson.Fragment]:
    row, known = id(rules), _remembered
    return [
        found[2] if (found := known.get((id(each), row))) and found[0] is each and found[1] is rules else _encode(each, rules)
        for each in messages
    ]


def _encode(message: Message, rules: WireRules) -> orjson.Fragment:
    if len(_remembered) >= REMEMBERED:
        _remembered.clear()
    fragment = orjson.Fragment(encoded(_said(message, rules)))
    _remembered[id(message), id(rules)] = message, rules, fragment
    return fragment


def _said(message: Message, rules: WireRules) -> dict[str, Json]:
    match message:
        case SystemMessage() | UserMessage():
            return {"role": message.role, "content": message.text}
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
        case AssistantMessage():
            said: dict[str, Json] = {"role": "assistant", "content": message.text or None}
            if message.reasoning and rules.reasoning_field:
                said[rules.reasoning_field] = message.reasoning
            if message.calls:
                said["tool_calls"] = [_call(call, rules) for call in message.calls]
            return said


def _call(call: ToolCall, rules: WireRules) -> dict[str, Json]:
    function = {"name": call.name, "arguments": object_text(call.arguments)}
    said = {"id": call.id, "type": "function", "function": function}
    if not (call.extra and rules.call_extras):
        return said
    extra = json.loads(call.extra)
    return {**said, **extra, "function": {**function, **extra.get("function", {})}}


def object_text(text: str) -> str:
    """Arguments as the model wrote them; wrapped when they are no JSON object, for some servers parse the history."""
    try:
        if isinstance(orjson.loads(text), dict):
            return text
    except ValueError:
        pass
    return orjson.dumps({"unreadable": mended(text)}).decode()


@lru_cache(REMEMBERED)
def _tool(tool: ToolSpec) -> orjson.Fragment:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return orjson.Fragment(orjson.dumps({"type": "function", "function": function}))


@lru_cache(REMEMBERED)
def _format(wanted: ResponseFormat) -> orjson.Fragment:
    if wanted.schema is None:
        return _ANY_OBJECT
    schema = {"name": wanted.name, "schema": dict(wanted.schema), "strict": _is_strict(wanted.schema)}
    return orjson.Fragment(orjson.dumps({"type": "json_schema", "json_schema": schema}))


def _is_strict(schema: Json | Schema) -> bool:
    """Whether strict mode can express it: every object closed, every property required. Else we ask without."""
    match schema:
        case list():
            return all(_is_strict(item) for item in schema)
        case dict() if schema.get("type") == "object" or "properties" in schema:
            names = schema.get("properties", {})
            closed = schema.get("additionalProperties") is False and set(schema.get("required", ())) == set(names)
            return (
                closed
                and all(_is_strict(inner) for key, inner in schema.items() if key != "properties")
                and _is_strict([*names.values()])
            )
        case dict():
            return all(_is_strict(inner) for inner in schema.values())
        case _:
            return True
