"""JSON is read whole, exactly, and not too deep."""

import pytest

from registry.errors import Garbled
from registry.messages import Json
from registry.wire.decoding import DEEPEST, decoded

LONG = "123456789012345678901234567890"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param(b'{"a": [1, null]}', {"a": [1, None]}, id="plain"),
        pytest.param(b'{"a": "x\ny"}', {"a": "x\ny"}, id="a line break in a text"),
        pytest.param(b'{"tool_calls": %s}' % LONG.encode(), {"tool_calls": int(LONG)}, id="a long number"),
        pytest.param(b'{"tool_calls": [-%s]}' % LONG.encode(), {"tool_calls": [-int(LONG)]}, id="a long number below nought"),
        pytest.param(
            b'{"id": "id-%s", "tool_calls": [1,%s]}' % (2 * LONG.encode(), LONG.encode()),
            {"id": f"id-{LONG}{LONG}", "tool_calls": [1, int(LONG)]},
            id="a long number after an id that looks like one",
        ),
        pytest.param(b'{"tool_calls": "x%s"}' % LONG.encode(), {"tool_calls": f"x{LONG}"}, id="no number"),
    ],
)
def test_values(text: bytes, value: Json) -> None:
    """What comes is read as it was meant, and whole numbers of any length where there may be arguments."""
    assert value == decoded(text, "https://x")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param(b"", "an empty body", id="nothing"),
        pytest.param(b"oops", "oops", id="no JSON"),
        pytest.param(b"<html><title>Hi</title></html>", "such as /v1", id="a web page"),
        pytest.param(b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1), "unreadable", id="too deep"),
    ],
)
def test_what_is_not_read(text: bytes, why: str) -> None:
    """Anything else is garbled, and the error says what came."""
    with pytest.raises(Garbled, match=why):
        decoded(text, "https://x")


def test_as_deep_as_can_be() -> None:
    """The deepest value that can be written again is read."""
    assert decoded(b"[" * DEEPEST + b"]" * DEEPEST, "https://x")
