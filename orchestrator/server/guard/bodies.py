"""Bodies of requests: read whole before the app sees anything of them, within limits of size, time and shape."""

import re
from collections.abc import Iterator

import anyio
from msgspec import Struct
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive

_TEXTS = re.compile(rb'"[^"\\]*+(?:\\(?:.|\Z)[^"\\]*+)*+(?:"|\Z)', re.DOTALL)
"""JSON texts. Possessive, and an open end counts: no body makes it look at a byte twice."""

_OTHERS = bytes(byte for byte in range(256) if byte not in b"[]{}")


class BodyLimits(Struct, frozen=True, kw_only=True):
    """`size` in bytes, `seconds` for all of it, `depth` of arrays and objects in each other, `values` in all of them."""

    size: int = 1024 * 1024
    seconds: float = 10.0
    depth: int = 64
    values: int = 100_000


class TooLarge(Struct, frozen=True):
    """It has more bytes than it may."""


class TooSlow(Struct, frozen=True):
    """It has not come whole in its time."""


class TooDeep(Struct, frozen=True):
    """`why` says what there is too much of."""

    why: str


async def read_body(
    receive: Receive, limits: BodyLimits, *, length: bytes, content_type: bytes
) -> bytes | TooLarge | TooSlow | TooDeep:
    """The whole body. `length` and `content_type` are what the headers say, empty where they don't.

    Raises `ClientDisconnect` where the peer left before the end.
    """
    if length.isdigit() and int(length) > limits.size:
        return TooLarge()
    body = bytearray()
    with anyio.move_on_after(limits.seconds) as scope:
        more = True
        while more and len(body) <= limits.size:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            body += message.get("body", b"")
            more = message.get("more_body", False)
    if len(body) > limits.size:
        return TooLarge()
    if scope.cancelled_caught:
        return TooSlow()
    why = tangled(bytes(body), limits) if _may_be_json(content_type) else ""
    return TooDeep(why) if why else bytes(body)


def tangled(body: bytes, limits: BodyLimits) -> str:
    """What there is too much of for a parser, if this is JSON; empty where it is fit. Looks at each byte about once."""
    outline = _TEXTS.sub(b"", body)
    if sum(map(outline.count, (b",", b"[", b"{"))) > limits.values:
        return f"it has more than {limits.values} values"
    if max(_depths(outline.translate(None, _OTHERS)), default=0) > limits.depth:
        return f"its arrays and objects are more than {limits.depth} deep"
    return ""


def _depths(brackets: bytes) -> Iterator[int]:
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in b"[{" else -1
        yield depth


def _may_be_json(content_type: bytes) -> bool:
    return not content_type or b"json" in content_type.lower()


def replayed(body: bytes, receive: Receive) -> Receive:
    """`receive` for an app that has not seen the body yet: all of it at once, and afterwards what really comes."""
    given: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return given.pop() if given else await receive()

    return again
