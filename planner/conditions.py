"""Conditions such as `${steps.find.data.count} > 3 and not ${inputs.quick}`: a closed grammar over references, without code.

    condition   all ("or" all)*
    all         negation ("and" negation)*
    negation    "not" negation | comparison
    comparison  value [("==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in") value]
    value       ${reference} | number | 'text' | "text" | true | false | null | [value, ...] | (condition)

Nothing is converted: "3" is not 3 and true is not 1, but 3 is 3.0. Order is asked of two numbers or of two texts; `in` of a
list, of an object's keys, or of a text in a text. What decides must be true or false. What `and` and `or` don't need is not
looked at.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import ge, gt, le, lt
from typing import Literal, TypeVar, assert_never

from msgspec import Struct

from planner.errors import BadCondition, Undecided
from planner.references import Reference, only
from registry.messages import Json

LONGEST = 2_000
"""Characters of a condition."""

DEEPEST = 32
"""How deep parentheses, lists and negations may be nested."""

_T = TypeVar("_T")

Comparing = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in"]
Look = Callable[[Reference], Json]
"""What a reference leads to."""

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<reference>\$\{[^{}]*\})
    | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.]))
    | (?P<word>[A-Za-z_]\w*)
    | (?P<sign>==|!=|<=|>=|<|>|\(|\)|\[|\]|,)
    )""",
    re.VERBOSE,
)
_SIGNS: tuple[Comparing, ...] = ("==", "!=", "<=", ">=", "<", ">", "in")
_WORDS: Mapping[str, Json] = {"true": True, "false": False, "null": None}
_ESCAPES: Mapping[str, str] = {"n": "\n", "t": "\t"}
_ORDERS: Mapping[str, Callable[..., bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


class Constant(Struct, frozen=True):
    value: Json


class Lookup(Struct, frozen=True):
    reference: Reference


class Listed(Struct, frozen=True):
    members: tuple["Condition", ...]


class Compared(Struct, frozen=True):
    how: Comparing
    left: "Condition"
    right: "Condition"


class Negated(Struct, frozen=True):
    inner: "Condition"


class Joined(Struct, frozen=True):
    """`and` and `or` in a row: the first part that is `until` decides."""

    until: bool
    parts: tuple["Condition", ...]


Condition = Constant | Lookup | Listed | Compared | Negated | Joined


@lru_cache(maxsize=4096)
def condition(text: str) -> Condition:
    """The condition that the text is. Raises `BadCondition` with the place of the fault."""
    if len(text) > LONGEST:
        raise BadCondition(text, LONGEST, f"a condition has at most {LONGEST} characters")
    return _Reader(text).whole()


def holds(text: str, look: Look) -> bool:
    """Whether the condition holds where references lead to what `look` says. Raises `Undecided` where values don't suit it."""
    return _truth(condition(text), look, text)


def _truth(part: Condition, look: Look, text: str) -> bool:
    match part:
        case Negated(inner=inner):
            return not _truth(inner, look, text)
        case Joined(until=until, parts=parts):
            return until if any(_truth(each, look, text) is until for each in parts) else not until
        case Compared(how=how, left=left, right=right):
            return _compared(how, _value(left, look, text), _value(right, look, text), text)
        case Constant() | Lookup() | Listed():
            value = _value(part, look, text)
            if isinstance(value, bool):
                return value
            raise Undecided(text, f"{_shown(value)} is neither true nor false")
        case _:
            assert_never(part)


def _value(part: Condition, look: Look, text: str) -> Json:
    match part:
        case Constant(value=value):
            return value
        case Lookup(reference=reference):
            return look(reference)
        case Listed(members=members):
            return [_value(member, look, text) for member in members]
        case _:
            return _truth(part, look, text)


def _compared(how: Comparing, left: Json, right: Json, text: str) -> bool:
    match how:
        case "==" | "!=":
            return _equal(left, right) is (how == "==")
        case "in" | "not in":
            return _contains(right, left, text) is (how == "in")
        case _:
            if (_is_number(left) and _is_number(right)) or (isinstance(left, str) and isinstance(right, str)):
                return _ORDERS[how](left, right)
            raise Undecided(text, f"{_shown(left)} and {_shown(right)} have no order")


def _equal(left: Json, right: Json) -> bool:
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


def _contains(whole: Json, part: Json, text: str) -> bool:
    match whole:
        case list() | tuple():
            return any(_equal(member, part) for member in whole)
        case Mapping() if isinstance(part, str):
            return part in whole
        case str() if isinstance(part, str):
            return part in whole
        case _:
            raise Undecided(text, f"{_shown(part)} can't be in {_shown(whole)}")


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: Json) -> str:
    written = json.dumps(value, ensure_ascii=False)
    return written if len(written) <= 60 else written[:60] + "…"


class _Reader:
    """Reads a condition from left to right, without going back."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0
        self._kind, self._token, self._start = "", "", 0
        self._step()

    def whole(self) -> Condition:
        found = self._row("or")
        if self._kind:
            raise self._wrong("nothing more, or an 'and' or 'or', was to come here")
        return found

    def _row(self, word: Literal["or", "and"]) -> Condition:
        parts = [self._row("and") if word == "or" else self._negation()]
        while self._taken(word):
            parts.append(self._row("and") if word == "or" else self._negation())
        return parts[0] if len(parts) == 1 else Joined(until=word == "or", parts=tuple(parts))

    def _negation(self) -> Condition:
        if not self._taken("not"):
            return self._comparison()
        return Negated(self._deeper(self._negation))

    def _comparison(self) -> Condition:
        left = self._operand()
        how = self._how()
        return left if how is None else Compared(how, left, self._operand())

    def _how(self) -> Comparing | None:
        for sign in _SIGNS:
            if self._taken(sign):
                return sign
        if not self._taken("not"):
            return None
        if not self._taken("in"):
            raise self._wrong("'in' was to come after 'not'")
        return "not in"

    def _operand(self) -> Condition:
        kind, token, start = self._kind, self._token, self._start
        if self._taken("("):
            inner = self._deeper(lambda: self._row("or"))
            self._demand(")")
            return inner
        if self._taken("["):
            return Listed(self._deeper(self._members))
        self._step()
        match kind:
            case "reference" if (reference := only(token)) is not None:
                return Lookup(reference)
            case "text" if (text := _unquoted(token)) is not None:
                return Constant(text)
            case "number":
                return Constant(json.loads(token))
            case "word" if token in _WORDS:
                return Constant(_WORDS[token])
        raise BadCondition(self._text, start, _due(kind, token))

    def _members(self) -> tuple[Condition, ...]:
        members: list[Condition] = []
        while not self._taken("]"):
            if members:
                self._demand(",")
            members.append(self._operand())
        return tuple(members)

    def _deeper(self, read: Callable[[], _T]) -> _T:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._wrong(f"nested deeper than {DEEPEST} levels")
        found = read()
        self._depth -= 1
        return found

    def _taken(self, wanted: str) -> bool:
        if self._token != wanted or self._kind not in ("word", "sign"):
            return False
        self._step()
        return True

    def _demand(self, sign: str) -> None:
        if not self._taken(sign):
            raise self._wrong(f"{sign!r} was to come here")

    def _step(self) -> None:
        found = _TOKEN.match(self._text, self._at)
        if found is None or found.lastgroup is None:
            rest = self._text[self._at :]
            self._start = self._at + len(rest) - len(rest.lstrip())
            self._kind = self._token = ""
            if rest.strip():
                raise self._wrong(_due("", rest.strip()[:1]))
            return
        self._kind, self._token, self._start = found.lastgroup, found[found.lastgroup], found.start(found.lastgroup)
        self._at = found.end()

    def _wrong(self, why: str) -> BadCondition:
        return BadCondition(self._text, self._start, why)


def _unquoted(token: str) -> str | None:
    """What stands between the quotes; None where that is a reference, which needs none."""
    inner = re.sub(r"\\(.)", lambda escaped: _ESCAPES.get(escaped[1], escaped[1]), token[1:-1])
    return None if "${" in inner.replace("$${", "") else inner.replace("$${", "${")


def _due(kind: str, token: str) -> str:
    """What to say of a token that can't be a value."""
    match kind:
        case "reference":
            return f"{token} is not a reference"
        case "text":
            return "a reference stands by itself, without quotes"
        case "word":
            return f"{token!r} is no value: a text stands in quotes, a reference in ${{...}}"
        case _:
            return f"{token!r} can't stand here" if token else "a value was to come here"
