"""Events as bytes, and the ids by which a client goes on."""

import orjson
import pytest

from orchestrator.events.project import ChannelMessage
from orchestrator.server.frames import EventId, frame


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("1.0", EventId(1, 0), id="first"),
        pytest.param("20.1", EventId(20, 1), id="second message"),
        pytest.param("0.0", None, id="no event has the number 0"),
        pytest.param("1.2", None, id="no event has three messages"),
        pytest.param("1", None, id="no place"),
        pytest.param("01.0", None, id="another spelling"),
        pytest.param("٣.0", None, id="other digits"),
        pytest.param("1.0\n", None, id="a line break"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_ids_are_read_strictly(text: str, expected: EventId | None) -> None:
    """Only what we wrote is an id."""
    assert expected == EventId.read(text)


def test_a_message_is_one_frame() -> None:
    """Id, channel and data, each on a line, whatever line breaks there are in the text."""
    message = ChannelMessage(channel="answer", payload={"content": "a\nb\r\u2028c"}, id="3.0")

    head, channel, data, *rest = frame(message).split(b"\n")

    assert (b"id: 3.0", b"event: answer", [b"", b""]) == (head, channel, rest)
    assert {"content": "a\nb\r\u2028c"} == orjson.loads(data.removeprefix(b"data: "))


def test_a_glimpse_has_no_id() -> None:
    """So a client that comes back asks for what is behind the last Fact."""
    assert frame(ChannelMessage(channel="step", payload={}, id=None)).startswith(b"event: step\n")


def test_what_json_cannot_hold_becomes_a_question_mark() -> None:
    """Half a character in what a model said does not break the stream."""
    assert b'"?"' in frame(ChannelMessage(channel="answer", payload={"content": "\ud800"}, id=None))


def test_large_numbers_stay_as_they_are() -> None:
    """A tool's argument may be longer than 64 bits."""
    assert b"123456789012345678901" in frame(ChannelMessage(channel="step", payload={"n": 123456789012345678901}, id=None))
