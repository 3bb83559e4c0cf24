"""Reading a JSON value out of what a model wrote.

The untouched text is read strictly first, and when that works nothing is cleaned. Otherwise tolerance only yields
candidates, among which the schema chooses. A second object is never dropped unseen, a number never changes, and a text that
ends in the middle of a value is never a success.
"""

import re
from typing import Any, Literal

from msgspec import Struct, field

from registry.messages import Json
from registry.structured.decoding import ConflictingKeys, Decoded, decode, decode_at
from registry.structured.shapes import AnySchema, Shape, Unfit, shape_of
from registry.structured.spans import LANDMARK, value_span

_CONVERTED = "converted to fit the schema"
_LOST_MEMBER = re.compile(r"""[\s}\]]* , \s* ["'“] [^"'“”\n]* ["'”] \s* :""", re.VERBOSE)
"""What follows an object that was closed too early."""

Why = Literal["nothing", "syntax", "truncated", "several", "duplicate_key", "schema"]


class Extracted(Struct, frozen=True):
    """The value that was found. `notes` say what had to be repaired or passed over, empty for clean JSON."""

    value: Json
    notes: tuple[str, ...] = ()


class Unreadable(Struct, frozen=True):
    """No value could be had. `why` is the kind of fault, `message` the sentence, for a model to read."""

    why: Why
    message: str


def extract_json(text: str, schema: AnySchema[Any] | None = None) -> Extracted | Unreadable:
    """The one JSON value in `text` that fits `schema`, or why there is none.

    `schema` is a pydantic model, a TypeAdapter or a JSON Schema. Without one, a single object is taken, or else a single list.
    """
    return extract(text, None if schema is None else shape_of(schema))


def extract(text: str, shape: Shape | None) -> Extracted | Unreadable:
    """`extract_json` for a shape at hand."""
    try:
        return _extract(text, shape)
    except ConflictingKeys as conflict:
        return Unreadable("duplicate_key", str(conflict))
    except RecursionError:
        return Unreadable("syntax", "the value is nested too deeply")


def read_strictly(text: str, shape: Shape | None) -> Extracted | Unreadable:
    """Like `extract`, but the text must be JSON and nothing else."""
    try:
        return _fitted(decode(text), shape)
    except ConflictingKeys as conflict:
        return Unreadable("duplicate_key", str(conflict))
    except ValueError as error:
        return Unreadable("syntax", f"not valid JSON: {error}")
    except RecursionError:
        return Unreadable("syntax", "the value is nested too deeply")


def _extract(text: str, shape: Shape | None) -> Extracted | Unreadable:
    if text.startswith("\ufeff"):
        return _noted(_extract(text[1:], shape), "a byte order mark was cut")
    try:
        whole = decode(text)
    except ConflictingKeys:
        raise
    except ValueError:
        survey = _survey(text)
        notes = ("text around the value was ignored",) if survey.covered < len(text.strip()) else ()
        return _noted(_choice(survey, shape), *notes)
    return _whole(whole, shape)


def _whole(whole: Decoded, shape: Shape | None) -> Extracted | Unreadable:
    """The value of a text that is JSON throughout; of a list of content parts, what its text parts say."""
    found = _fitted(whole, shape)
    if isinstance(found, Unreadable):
        said = _text_of_parts(whole.value)
        if said is not None:
            return _noted(_extract(said, shape), "the text parts of a list were read")
    return found


def _text_of_parts(value: Json) -> str | None:
    if not isinstance(value, list) or not all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in value):
        return None
    texts = [part["text"] for part in value if part["type"] == "text" and isinstance(part.get("text"), str)]
    return "".join(texts) if texts else None


def _fitted(decoded: Decoded, shape: Shape | None) -> Extracted | Unreadable:
    if shape is None:
        return Extracted(decoded.value, decoded.notes)
    try:
        fit = shape.fit(decoded.value)
    except Unfit as unfit:
        return Unreadable("schema", f"the value does not fit the schema: {unfit}")
    return Extracted(fit.raw, (*decoded.notes, _CONVERTED) if fit.converted else decoded.notes)


def _noted(found: Extracted | Unreadable, *notes: str) -> Extracted | Unreadable:
    return Extracted(found.value, (*notes, *found.notes)) if isinstance(found, Extracted) else found


class _Survey(Struct):
    """What a text holds outside its think blocks: values, what is wrong with objects, and whether it ends within one."""

    values: list[Decoded] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    cut: bool = False
    covered: int = 0


def _survey(text: str) -> _Survey:
    found = _Survey()
    at = 0
    while mark := LANDMARK.search(text, at):
        if mark["opened"]:
            at = _after_thought(text, mark["opened"], mark.start(), mark.end())
        elif mark["closed"]:
            found, at = _Survey(), mark.end()  # its beginning was part of the prompt: all so far was thought
        else:
            at = _take(text, mark.start(), found)
            if text[mark.start()] == "{" and _LOST_MEMBER.match(text, at):
                found.broken.append("a member follows the object that it belongs to")
    return found


def _after_thought(text: str, tag: str, start: int, end: int) -> int:
    """Where reading goes on after an opening think tag. One that is never closed hides the rest if the text begins with it."""
    close = text.find(f"</{tag}>", end)
    if close >= 0:
        return close + len(tag) + 3
    return end if text[:start].strip() else len(text)


def _take(text: str, start: int, found: _Survey) -> int:
    """Note the value that begins at `start`, and say where it ends."""
    try:
        decoded = decode_at(text, start)
    except ConflictingKeys:
        raise
    except ValueError as error:
        return _take_broken(text, start, found, str(error))
    found.values.append(decoded)
    found.covered += decoded.end - start
    return decoded.end


def _take_broken(text: str, start: int, found: _Survey, why: str) -> int:
    from registry.structured.mending import mended

    span = value_span(text, start)
    if span is None:
        thought = text.rfind("</think>", start)
        found.cut = thought < 0
        return len(text) if found.cut else thought
    decoded = mended(text, span)
    found.covered += span.end - start
    if decoded is not None:
        found.values.append(decoded)
    elif text[start] == "{":
        found.broken.append(why)
    return span.end


def _choice(found: _Survey, shape: Shape | None) -> Extracted | Unreadable:
    if found.cut:
        return Unreadable("truncated", "the text ends in the middle of a value")
    if found.broken:
        return Unreadable("syntax", f"not valid JSON: {found.broken[0]}")
    if not found.values:
        return Unreadable("nothing", "there is no JSON value in the text")
    readings = [_fitted(value, shape) for value in found.values]
    fitting = _distinct(readings, shape)
    if all(_CONVERTED in fit.notes for fit in fitting):
        fitting = _all_as_list(found.values, shape) or fitting
    if not fitting:
        return next(read for read in readings if isinstance(read, Unreadable))
    if len(fitting) > 1:
        return Unreadable("several", f"there are {len(fitting)} different values where one was asked for")
    return _noted(fitting[0], *((f"chosen from {len(readings)} values",) if len(readings) > 1 else ()))


def _distinct(readings: list[Extracted | Unreadable], shape: Shape | None) -> list[Extracted]:
    """The different values among those that fit, the schema itself left out, which models like to repeat."""
    fitting = [read for read in readings if isinstance(read, Extracted)]
    if shape is None:
        fitting = [read for read in fitting if isinstance(read.value, dict)] or fitting
    elif len(fitting) > 1:
        fitting = [read for read in fitting if not _echoes(read.value, shape)] or fitting
    return [read for at, read in enumerate(fitting) if all(read.value != earlier.value for earlier in fitting[:at])]


def _echoes(value: Json, shape: Shape) -> bool:
    if not isinstance(value, dict) or "properties" in shape.schema.get("properties", {}):
        return False
    return value == dict(shape.schema) or (value.get("type") == "object" and isinstance(value.get("properties"), dict))


def _all_as_list(values: list[Decoded], shape: Shape | None) -> list[Extracted]:
    """Several values side by side, where the schema wants a list of such; empty where it does not."""
    if shape is None or len(values) < 2:
        return []
    read = _fitted(Decoded([value.value for value in values], 0), shape)
    return [read] if isinstance(read, Extracted) and _CONVERTED not in read.notes else []
