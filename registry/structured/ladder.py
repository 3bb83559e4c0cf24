"""The rungs of a structured call: how each asks for a typed answer, and how it reads what comes back."""

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from registry.errors import Refused
from registry.messages import Json, Message, Reply, Request, ResponseFormat, Schema, SystemMessage, ToolCall, ToolSpec
from registry.models.model import Abilities
from registry.structured.extract import Extracted, Unreadable, extract, read_strictly
from registry.structured.shapes import Shape

RungName = Literal["native", "json", "text"]


class Wanted(Struct, frozen=True, eq=False):
    """What a structured call asks for. `regex_fallback` finds a value in a text that `extract_json` can't read."""

    name: str
    shape: Shape
    abilities: Abilities
    regex_fallback: Callable[[str], Json | None] | None = None


class Rung(Struct, frozen=True, kw_only=True, eq=False):
    """One way to ask.

    `needs` lists abilities of which the model must have one, none for a rung that any model can take. `replies` is how often
    it may be asked. `features` are the words by which an endpoint names what it refuses.
    """

    name: RungName
    needs: tuple[str, ...] = ()
    replies: int
    features: tuple[str, ...] = ()
    ask: Callable[[Request, Wanted], Request]
    read: Callable[[Reply, Wanted], Extracted | Unreadable]

    def suits(self, abilities: Abilities) -> bool:
        return not self.needs or any(abilities.get(ability, False) for ability in self.needs)

    def is_named_by(self, refusal: Refused) -> bool:
        """Whether the endpoint refused just this way of asking, rather than the request as such."""
        said = f"{refusal.parameter or ''} {refusal.why}".lower()
        return any(feature in said for feature in self.features)


def _as_tool(request: Request, wanted: Wanted) -> Request:
    return replace(request, tools=(_answer_tool(wanted.name, wanted.shape),), tool_choice=wanted.name)


@lru_cache(maxsize=256)
def _answer_tool(name: str, shape: Shape) -> ToolSpec:
    return ToolSpec(name=name, description="Give the answer in this form.", parameters=shape.boxed)


def _as_json(request: Request, wanted: Wanted) -> Request:
    schema = wanted.shape.boxed if wanted.abilities.get("json_schema", False) else None
    told = _told(request, wanted.shape.boxed)
    return replace(told, response_format=ResponseFormat(name=wanted.name, schema=schema))


def _in_words(request: Request, wanted: Wanted) -> Request:
    return _told(request, wanted.shape.schema)


def _told(request: Request, schema: Schema) -> Request:
    """The request with the schema in its system message, where it does not upset the turns of the conversation."""
    words = (
        "Answer with one JSON value that fits the JSON Schema below. Write the JSON only: no fence, no comment, no prose.\n\n"
        f"{json.dumps(schema, ensure_ascii=False)}"
    )
    first, rest = request.messages[:1], request.messages[1:]
    if first and isinstance(first[0], SystemMessage):
        return replace(request, messages=(replace(first[0], text=f"{first[0].text}\n\n{words}"), *rest))
    return replace(request, messages=(SystemMessage(text=words), *request.messages))


def _read_call(reply: Reply, wanted: Wanted) -> Extracted | Unreadable:
    """The arguments of the one call. A model that wrote its answer as text instead is taken at its word, if that is clean."""
    calls = {call.arguments.strip() for call in reply.calls if _is_answer(call, wanted.name)}
    match tuple(calls):
        case ():
            found = read_strictly(reply.text, wanted.shape)
            return found if isinstance(found, Extracted) else Unreadable("nothing", f"{wanted.name!r} was not called")
        case ("",):
            return read_strictly("{}", wanted.shape)
        case (arguments,):
            return extract(arguments, wanted.shape)
        case several:
            return Unreadable("several", f"{wanted.name!r} was called {len(several)} times with different arguments")


def _is_answer(call: ToolCall, name: str) -> bool:
    return call.name == name or call.name.endswith(f".{name}")


def _read_text(reply: Reply, wanted: Wanted) -> Extracted | Unreadable:
    if not reply.text.strip() and reply.finish == "stop" and reply.reasoning:
        return _read_reasoning(reply.reasoning, wanted.shape)
    return extract(reply.text, wanted.shape)


def _read_reasoning(reasoning: str, shape: Shape) -> Extracted | Unreadable:
    """Some servers file the whole answer under reasoning. A mere thought is not taken for one: it must be JSON throughout."""
    found = read_strictly(reasoning, shape)
    if isinstance(found, Extracted):
        return Extracted(found.value, (*found.notes, "the answer was in the reasoning"))
    return Unreadable("nothing", "the reply is empty")


def _read_text_or_match(reply: Reply, wanted: Wanted) -> Extracted | Unreadable:
    found = _read_text(reply, wanted)
    if isinstance(found, Extracted) or wanted.regex_fallback is None:
        return found
    matched = wanted.regex_fallback(reply.text)
    if matched is None:
        return found
    checked = read_strictly(json.dumps(matched), wanted.shape)
    if isinstance(checked, Extracted):
        return Extracted(checked.value, (*checked.notes, "found by the regular expression"))
    return checked


LADDER = (
    Rung(
        name="native",
        needs=("tool_call",),
        replies=1,
        features=("tool", "function"),
        ask=_as_tool,
        read=_read_call,
    ),
    Rung(
        name="json",
        needs=("json_mode", "json_schema"),
        replies=2,
        features=("response_format", "response format", "json_schema", "json_object", "json mode", "json schema", "grammar"),
        ask=_as_json,
        read=_read_text,
    ),
    Rung(name="text", replies=2, ask=_in_words, read=_read_text_or_match),
)


def base_request(messages: Sequence[Message], max_tokens: int | None) -> Request:
    """The question before any rung has put it in its way."""
    return Request(messages=tuple(messages), max_tokens=max_tokens)
