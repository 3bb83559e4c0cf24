"""`structured_llm_call`: the one way to get typed data from a model."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from registry.calls import Call
from registry.context import cut
from registry.errors import ModelError, NoTypedAnswer, Refused, Truncated, Unable
from registry.messages import AssistantMessage, Json, Message, Reply, Request, UserMessage
from registry.models.model import Model
from registry.origins import joined
from registry.structured import refusals
from registry.structured.extract import Extracted, Unreadable
from registry.structured.ladder import LADDER, Rung, RungName, Wanted, base_request
from registry.structured.shapes import AnySchema, shape_of
from registry.usage import Usage

T = TypeVar("T")

_ABSENT: Any = object()
_QUOTED = 8_000
"""Characters of a wrong reply that are shown to the model again."""
_MOST_CUT = 2
"""Replies in a row that were cut off, after which a further one would be as well."""


class StructuredCallResult(Struct, Generic[T], frozen=True, kw_only=True):
    """A typed answer.

    `raw` is the JSON value behind `value`. `rung` is the one that gave it, None when `value` is the caller's default.
    `attempts` counts model replies, and `usage` covers all of them. `notes` say what had to be repaired.
    """

    value: T
    raw: Json
    rung: RungName | None
    attempts: int
    usage: Usage
    notes: tuple[str, ...] = ()


async def structured_llm_call(
    model: Model,
    messages: Sequence[Message],
    schema: AnySchema[Any],
    call: Call,
    *,
    name: str = "answer",
    parse_fn: Callable[[Any], Any] | None = None,
    regex_fallback: Callable[[str], Json | None] | None = None,
    default_value: Any = _ABSENT,
    max_tokens: int | None = None,
) -> StructuredCallResult[Any]:
    """Ask `model` for a value that fits `schema`: by a forced tool call, by JSON mode or in words, as its abilities allow.

    `name` is what the model is told the value is called. `parse_fn` maps the valid value to what the caller wants; a
    ValueError, TypeError or LookupError from it counts as an invalid reply. `regex_fallback` finds a value in a text that can't
    be read otherwise; it is validated like any other. `default_value` is returned when no reply fits.

    Raises `NoTypedAnswer` when no reply fits and there is no default. Any other `ModelError` is an outage or a refusal of the
    request as such, and passes; its `usage` covers all attempts.
    """
    wanted = Wanted(name, shape_of(schema), model.abilities, regex_fallback)
    climb = _Climb(model, call, wanted, parse_fn)
    try:
        found = await climb.down(base_request(messages, max_tokens))
    except ModelError as error:
        error.usage = climb.usage
        raise
    if found is not None:
        return found
    if default_value is _ABSENT:
        raise NoTypedAnswer(name, tuple(climb.tried), usage=climb.usage)
    return StructuredCallResult(value=default_value, raw=None, rung=None, attempts=len(climb.tried), usage=climb.usage)


class _Missed(Struct, frozen=True):
    """A reply that gave no value, and what to tell the model. A reply that was `cut` off is not shown to it again."""

    why: str
    said: str
    cut: bool = False


class _NotOffered(Struct, frozen=True):
    """Nobody here knows this way of asking: by a refusal, or for want of a model that has the ability."""

    error: Refused | Unable


class _Climb(Struct):
    """One structured call on its way down the ladder. `tried` has an entry for each reply that gave no value."""

    model: Model
    call: Call
    wanted: Wanted
    parse_fn: Callable[[Any], Any] | None
    tried: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    cut_in_a_row: int = 0

    async def down(self, question: Request) -> StructuredCallResult[Any] | None:
        """The first valid answer, or None when every rung has been tried or further replies would be cut off as well."""
        for rung in LADDER:
            if not rung.suits(self.wanted.abilities) or refusals.holds(self.model, rung.name):
                continue
            found = await self._on(rung, rung.ask(question, self.wanted))
            if found is not None or self.cut_in_a_row >= _MOST_CUT:
                return found
        return None

    async def _on(self, rung: Rung, request: Request) -> StructuredCallResult[Any] | None:
        asked = request
        for _ in range(rung.replies):
            match await self._attempt(rung, asked):
                case StructuredCallResult() as found:
                    return found
                case _Missed() as missed:
                    self.tried.append(f"{rung.name}: {missed.why}")
                    self.cut_in_a_row = self.cut_in_a_row + 1 if missed.cut else 0
                    asked = _asked_again(request, missed)
                case _NotOffered(error=error):
                    if isinstance(error, Refused):
                        refusals.remember(self.model, rung.name, error)
                    return None
                case never:
                    assert_never(never)
            if self.cut_in_a_row >= _MOST_CUT:
                return None
        return None

    async def _attempt(self, rung: Rung, request: Request) -> StructuredCallResult[Any] | _Missed | _NotOffered:
        try:
            reply = await self.model.chat(request, self.call)
        except ModelError as error:
            self.usage += error.usage
            if isinstance(error, Truncated):
                return _Missed("the reply was cut off", "", cut=True)
            if isinstance(error, Unable) or (isinstance(error, Refused) and rung.is_named_by(error)):
                return _NotOffered(error)
            raise
        self.usage += reply.usage
        return self._judged(rung, reply)

    def _judged(self, rung: Rung, reply: Reply) -> StructuredCallResult[Any] | _Missed:
        if reply.finish == "length":
            return _Missed("the reply was cut off at the token limit", "", cut=True)
        read = rung.read(reply, self.wanted)
        if isinstance(read, Unreadable):
            return _Missed(read.message, reply.text, cut=read.why == "truncated")
        return self._parsed(rung, read, reply.text)

    def _parsed(self, rung: Rung, read: Extracted, said: str) -> StructuredCallResult[Any] | _Missed:
        fit = self.wanted.shape.fit(read.value)
        try:
            value = fit.value if self.parse_fn is None else self.parse_fn(fit.value)
        except (ValueError, TypeError, LookupError) as error:
            return _Missed(f"{type(error).__name__}: {error}", said)
        return StructuredCallResult(
            value=value, raw=fit.raw, rung=rung.name, attempts=len(self.tried) + 1, usage=self.usage, notes=read.notes
        )


def _asked_again(request: Request, missed: _Missed) -> Request:
    """The request, followed by the wrong reply and what is wrong with it. A reply that was cut off would only fill the window."""
    origins = joined(*(message.origins for message in request.messages))
    if missed.cut:
        shown, told = (
            "[my reply was cut off]",
            "Your reply was cut off before its end. Answer again, much shorter, in the same form.",
        )
    else:
        shown = cut(missed.said.strip(), _QUOTED) or "[my reply was empty]"
        told = f"That reply can't be used: {missed.why}\nAnswer again with valid JSON that fits the schema, and nothing else."
    added = (AssistantMessage(text=shown, origins=origins), UserMessage(text=told, origins=origins))
    return replace(request, messages=(*request.messages, *added))
