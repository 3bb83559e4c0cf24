"""References such as `${inputs.city}`, `${steps.find.output}` and `${steps.find.data.items[0].name}`.

A reference is a path and nothing else: no expressions, no code. `$${` is a plain `${`. How a step ended is its `status`:
"succeeded", "failed" or "skipped". What a step's own place gives it has a name of its own: in a map `${item}`, with paths into
it, and `${index}`; in a check `${output}` and `${data}`, with paths into it.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, assert_never

from msgspec import Struct
from msgspec.structs import replace

from planner.diagnostics import pointer
from planner.errors import BrokenReference
from planner.results import Failed, Results, Skipped, StepResult, Succeeded
from planner.shapes import StepShape
from registry.errors import there_are
from registry.messages import Json
from registry.origins import TRUSTED, Origins, joined

_ESCAPE = "$${"
_TOKEN = re.compile(r"\$\$\{|\$\{[^{}]*\}|\$\{")
_NAME = r"[\w-]+"
_REST = rf"((?:\.{_NAME}|\[[0-9]{{1,9}}\])*)"
_PATH = re.compile(rf"(inputs|steps)\.({_NAME}){_REST}")
_OWN = re.compile(rf"(item|index|output|data){_REST}")
_PART = re.compile(rf"\.({_NAME})|\[([0-9]+)\]")
_KEYS_SHOWN = 20
OF_AN_ITEM = ("item", "index")
OF_A_RESULT = ("output", "data")

OUTPUT, STATUS = ("output",), ("status",)

HOW = "write ${inputs.NAME}, ${steps.ID.output} or ${steps.ID.data.KEY[0]}; for a plain ${ write $${"


class Reference(Struct, frozen=True, kw_only=True):
    """`name` is the input's name, the step's id, or what the place of the step itself gives it ("own"): "item", "index", "output"
    or "data". `path` leads on from there, for a step beginning with "output", "data" or "status".

    `text` is the reference as written, `place` the JSON pointer of the string that holds it.
    """

    source: Literal["inputs", "steps", "own"]
    name: str
    path: tuple[str | int, ...]
    text: str
    place: str = ""


class Unreadable(Struct, frozen=True, kw_only=True):
    """Something that begins like a reference and is none."""

    text: str
    place: str = ""


class Own(Struct, frozen=True, kw_only=True):
    """What the place of a step gives it besides inputs and results, by name, and where that comes from.

    `inputs` is where the inputs come from: those of a plan inside a plan are not the user's.
    """

    values: Mapping[str, Json]
    origins: Origins = TRUSTED
    inputs: Origins = TRUSTED


NOTHING = Own(values={})

_NOBODY = frozenset[str]()

_REMEMBERED = 32_768
"""How many references are read once only: every check of a plan comes by all of them."""


class Resolved(NamedTuple):
    """A value with its references followed, and the origins of all that they brought in."""

    value: Json
    origins: Origins


def scan(value: Json) -> Sequence[Reference | Unreadable]:
    """Whatever looks like a reference, at any depth, in order."""
    if isinstance(value, str):
        return [_written(token) for token in _TOKEN.findall(value) if token != _ESCAPE] if "${" in value else ()
    return [replace(found, place=place) for place, text in _strings(value) for found in scan(text)] if value else ()


def find(value: Json) -> tuple[Reference, ...]:
    """Every reference in the value, at any depth, in order."""
    return tuple([found for found in scan(value) if isinstance(found, Reference)])


def quoted(step: StepShape) -> frozenset[str]:
    """The steps whose results stand in what the step does; those that only its condition or its check looks at do not."""
    said = (value for place, value in step.texts() if not place.endswith("/when") and "/verify" not in place)
    return frozenset(found.name for value in said for found in find(value) if found.source == "steps" and found.path != STATUS)


def only(text: str) -> Reference | None:
    """The reference that the text consists of, None when it is anything else."""
    if not _TOKEN.fullmatch(text):
        return None
    found = _written(text)
    return found if isinstance(found, Reference) else None


def rewrite(value: Json, written: Callable[[Reference | Unreadable], str]) -> Json:
    """The value with each reference replaced by what `written` makes of it; the rest stays, escapes too."""

    def put(token: re.Match[str]) -> str:
        return token[0] if token[0] == _ESCAPE else written(_written(token[0]))

    return _mapped(value, lambda text: _TOKEN.sub(put, text))


def forgiven(condition: str | None) -> frozenset[str]:
    """The steps whose status the condition looks at: who waits for them can do with any end of theirs."""
    if condition is None:
        return _NOBODY
    found = find(condition)
    return frozenset(each.name for each in found if each.source == "steps" and each.path == STATUS)


def renamed(reference: Reference, name: str) -> str:
    """The reference as it is written when its step or input has another name."""
    start = len("${" + reference.source + ".")
    return reference.text[:start] + name + reference.text[start + len(reference.name) :]


def resolve(value: Json, *, inputs: Mapping[str, Json], results: Results, own: Own = NOTHING) -> Resolved:
    """Follows every reference in the value, at any depth.

    A string that is one reference and nothing else becomes what the reference leads to, of whatever type; inside other
    text it is `rendered`. A step that failed or was skipped gives a text that says so. Raises `BrokenReference`.
    """
    if not value:
        return Resolved(value=value, origins=TRUSTED)
    origins: list[Origins] = []

    def read(token: str) -> Json:
        found, origin = _look_up(_written(token), inputs, results, own)
        origins.append(origin)
        return found

    def change(text: str) -> Json:
        if text != _ESCAPE and _TOKEN.fullmatch(text):
            return read(text)
        return _TOKEN.sub(lambda token: "${" if token[0] == _ESCAPE else rendered(read(token[0])), text)

    return Resolved(value=_mapped(value, change), origins=joined(*origins))


def look_up(reference: Reference, *, inputs: Mapping[str, Json], results: Results, own: Own = NOTHING) -> Resolved:
    """What the reference leads to. Raises `BrokenReference`, also where its step has no result to read."""
    result = results.get(reference.name) if reference.source == "steps" else None
    if isinstance(result, Failed | Skipped) and reference.path != STATUS:
        why = "was skipped" if isinstance(result, Skipped) else "failed"
        raise BrokenReference(reference.text, f"step {result.step!r} {why}; look at its status first")
    return Resolved(*_look_up(reference, inputs, results, own))


def rendered(value: Json) -> str:
    """A JSON value inside a text: text as it is, everything else as compact JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=_REMEMBERED)
def _written(text: str) -> Reference | Unreadable:
    inside = text[len("${") : -len("}")]
    path = _PATH.fullmatch(inside)
    own = None if path else _OWN.fullmatch(inside)
    source, name, rest = path.groups() if path else ("own", *own.groups()) if own else ("", "", "")
    parts = tuple(key or int(position) for key, position in _PART.findall(rest))
    match source:
        case "inputs":
            return Reference(source="inputs", name=name, path=parts, text=text)
        case "steps" if parts in (OUTPUT, STATUS) or parts[:1] == ("data",):
            return Reference(source="steps", name=name, path=parts, text=text)
        case "own" if not parts or name in ("item", "data"):
            return Reference(source="own", name=name, path=parts, text=text)
        case _:
            return Unreadable(text=text)


def _look_up(found: Reference | Unreadable, inputs: Mapping[str, Json], results: Results, own: Own) -> tuple[Json, Origins]:
    match found:
        case Unreadable(text=text):
            raise BrokenReference(text, HOW)
        case Reference(source="own", name=name, path=path, text=text):
            if name not in own.values:
                raise BrokenReference(text, f"there is no {name} here")
            return _follow(text, own.values[name], path, own.origins), own.origins
        case Reference(source="inputs", name=name, path=path, text=text):
            if name not in inputs:
                raise BrokenReference(text, f"no input named {name!r}; {there_are(name, inputs)}")
            return _follow(text, inputs[name], path, own.inputs), own.inputs
        case Reference(name=name, path=path, text=text):
            if name not in results:
                raise BrokenReference(text, f"step {name!r} has not ended")
            return _of_step(text, results[name], path)


def _of_step(text: str, result: StepResult, path: tuple[str | int, ...]) -> tuple[Json, Origins]:
    if path == STATUS:
        return result.kind, TRUSTED
    match result:
        case Succeeded(output=output, data=data, origins=origins):
            if path == OUTPUT:
                return output, origins
            if data is None:
                raise BrokenReference(text, f"step {result.step!r} gave plain text and no data")
            return _follow(text, data, path[1:], origins), origins
        case Failed(message=message, origins=origins):
            return f"(no result: step {result.step!r} failed: {message})", origins
        case Skipped(reason=reason):
            return f"(no result: step {result.step!r} was skipped: {reason})", TRUSTED
        case _:
            assert_never(result)


def _follow(text: str, found: Json, path: tuple[str | int, ...], origins: Origins) -> Json:
    for key in path:
        match key, found:
            case (int(), list() | tuple()) if key < len(found):
                found = found[key]
            case (str(), Mapping()) if key in found:
                found = found[key]
            case _:
                raise BrokenReference(text, f"there is no {key!r} in {_described(found)}", origins=origins)
    return found


def _described(value: Json) -> str:
    match value:
        case Mapping():
            keys = sorted(map(str, value))
            more = f" and {len(keys) - _KEYS_SHOWN} more" if len(keys) > _KEYS_SHOWN else ""
            return f"an object with the keys: {', '.join(keys[:_KEYS_SHOWN]) or 'none'}{more}"
        case list() | tuple():
            return f"a list of {len(value)}"
        case str():
            return "a text"
        case _:
            return json.dumps(value)


def _strings(value: Json) -> Iterator[tuple[str, str]]:
    """The texts in the value that may hold references, with the place of each."""
    match value:
        case str():
            if "${" in value:
                yield "", value
        case None | int() | float():
            return
        case dict() | Mapping():
            for key, inner in value.items():
                yield from ((pointer(key) + place, text) for place, text in _strings(inner))
        case list() | tuple():
            for position, inner in enumerate(value):
                yield from ((pointer(position) + place, text) for place, text in _strings(inner))


def _mapped(value: Json, change: Callable[[str], Json]) -> Json:
    match value:
        case str():
            return change(value) if "${" in value else value
        case None | int() | float():
            return value
        case dict() | Mapping():
            return {key: _mapped(inner, change) for key, inner in value.items()}
        case list() | tuple():
            return [_mapped(inner, change) for inner in value]
        case _:
            return value
