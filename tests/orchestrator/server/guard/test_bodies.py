"""Reading bodies, and looking at them before a parser does."""

import json

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import ClientDisconnect
from starlette.types import Message

from orchestrator.server.guard.bodies import BodyLimits, TooLarge, TooSlow, read_body, replayed, tangled

LIMITS = BodyLimits(size=100, seconds=5, depth=3, values=10)
WIDE = BodyLimits(depth=3, values=10_000)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", ""),
        (b"[[[1]]]", ""),
        (b"[[[[1]]]]", "deep"),
        (b'{"a":[{"b":1}]}', ""),
        (b'{"a":[{"b":{}}]}', "deep"),
        (b'"[[[["', ""),
        (b'["\\"[[[[", 1]', ""),
        (b'["\\\\", [[[]]]]', "deep"),
        (b"][][[[[", ""),
        (b"[1,2,3,4,5,6,7,8,9,0]", ""),
        (b"[1,2,3,4,5,6,7,8,9,0,1]", "values"),
        (b'",,,,,,,,,,,,,,,,"', ""),
        (b'"open [[[[', ""),
        (b'"open \\', ""),
    ],
)
def test_what_is_tangled(body: bytes, why: str) -> None:
    """Depth and number are counted outside texts."""
    found = tangled(body, LIMITS)

    assert bool(why) == bool(found)
    assert why in found


JSON = st.recursive(st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


def depth_of(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


@given(JSON, st.booleans())
def test_depth_is_that_of_what_it_means(value: object, escaped: bool) -> None:
    """For whatever JSON says, in whichever way it is written."""
    body = json.dumps(value, ensure_ascii=escaped).encode()

    assert ("deep" in tangled(body, WIDE)) == (depth_of(value) > 3)


@pytest.mark.parametrize("unit", [b'"', b'\\"', b'"\\', b"[", b'["', b"\\", b",", b"[],"], ids=repr)
def test_a_megabyte_takes_no_time(unit: bytes) -> None:
    """No body is looked at more than about once: this test would not end."""
    tangled(b'"' + unit * (1_000_000 // len(unit)), BodyLimits())


@pytest.mark.anyio
async def test_an_end_that_does_not_come() -> None:
    """Each piece may take its time, and all of them together have only so much."""
    pieces = iter(b"abcdefgh")

    async def receive() -> Message:
        await anyio.sleep(1)
        return {"type": "http.request", "body": bytes([next(pieces)]), "more_body": True}

    began = anyio.current_time()
    assert TooSlow() == await read_body(receive, LIMITS, length=b"", content_type=b"")
    assert anyio.current_time() - began == pytest.approx(5, abs=0.01)


@pytest.mark.anyio
async def test_no_more_is_taken_than_may_be() -> None:
    """A body without end is left at the first piece that is too much."""
    taken = []

    async def receive() -> Message:
        taken.append(40)
        return {"type": "http.request", "body": b" " * 40, "more_body": True}

    assert TooLarge() == await read_body(receive, LIMITS, length=b"", content_type=b"")
    assert 120 == sum(taken)


@pytest.mark.anyio
async def test_a_length_that_is_too_much_is_believed() -> None:
    """Nothing is read then; what is no number counts as not said."""

    async def receive() -> Message:
        return {"type": "http.request", "body": b"{}"}

    assert TooLarge() == await read_body(anyio.sleep_forever, LIMITS, length=b"101", content_type=b"")  # type: ignore[arg-type]
    assert b"{}" == await read_body(receive, LIMITS, length=b"-1", content_type=b"")


@pytest.mark.anyio
async def test_a_peer_that_leaves() -> None:
    """There is nobody to answer."""

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    with pytest.raises(ClientDisconnect):
        await read_body(receive, LIMITS, length=b"", content_type=b"")


@pytest.mark.anyio
async def test_the_app_reads_it_again() -> None:
    """First all of it at once, and then what really comes."""

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    again = replayed(b"body", receive)

    assert {"type": "http.request", "body": b"body", "more_body": False} == await again()
    assert {"type": "http.disconnect"} == await again()
