"""What a request that nobody recorded differs in from those that are recorded, for a person to read."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from registry.messages import Json, Request
from registry.recording.exchanges import Exchange, Way, key_of, lean

_SHOWN = 60
_BEFORE = 20
_ABSENT = "nothing"

Leaves = Mapping[str, str]
"""Every innermost value of a request as JSON text, by its path, such as `messages[1].text`."""


def described(way: Way, request: Request) -> str:
    """The request in one line: how it was made, its size, and what it ends in."""
    last = f", ending in {_around(_text(request.messages[-1].text), 0)}" if request.messages else ""
    return f"{way} of {len(request.messages)} messages and {len(request.tools)} tools{last}"


def instead(way: Way, request: Request, recorded: Sequence[Exchange]) -> str:
    """What there is in place of the request: it too few times, another one close to it, or nothing."""
    if not recorded:
        return "nothing is recorded"
    wanted = key_of(way, request)
    if same := sum(key_of(exchange.way, exchange.request) == wanted for exchange in recorded):
        return f"it is recorded {same} times and came once more"
    here = _leaves_of(way, request)
    others = [_leaves_of(exchange.way, exchange.request) for exchange in recorded]
    differing = [[place for place in {**here, **other} if here.get(place) != other.get(place)] for other in others]
    nearest = min(range(len(others)), key=lambda at: (len(differing[at]), -_shared(here, others[at], differing[at][0])))
    return _told(nearest + 1, here, others[nearest], differing[nearest])


def _told(number: int, here: Leaves, there: Leaves, differing: list[str]) -> str:
    place, *more = differing
    start = _shared(here, there, place) - _BEFORE
    came, was = (_around(said.get(place, _ABSENT), start) for said in (here, there))
    rest = f", and in {len(more)} more places" if more else ""
    return f"the nearest recorded one is number {number}, which differs in {place}: here {came}, there {was}{rest}"


def _leaves_of(way: Way, request: Request) -> Leaves:
    return dict(_leaves({"way": way, **lean(request)}, ""))


def _leaves(value: Json, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, held in value.items():
            yield from _leaves(held, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for at, held in enumerate(value):
            yield from _leaves(held, f"{path}[{at}]")
    else:
        yield path, _text(value)


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _shared(here: Leaves, there: Leaves, place: str) -> int:
    """How many characters two values have in common before they differ."""
    pairs = zip(here.get(place, _ABSENT), there.get(place, _ABSENT), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _around(text: str, start: int) -> str:
    start = max(0, start)
    end = start + _SHOWN
    return f"{'…' if start else ''}{text[start:end]}{'…' if text[end:] else ''}"
