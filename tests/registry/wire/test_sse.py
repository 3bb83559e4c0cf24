"""Server-sent events, however the bytes are cut."""

import pytest

from registry.wire.sse import ServerSentEvent, SseDecoder


def decoded(raw: bytes, *, size: int) -> list[ServerSentEvent]:
    decoder = SseDecoder()
    events = [event for at in range(0, len(raw), size) for event in decoder.feed(raw[at : at + size])]
    last = decoder.end()
    return [*events, last] if last else events


def event(text: str, name: str = "message", *, cut: bool = False) -> ServerSentEvent:
    return ServerSentEvent(text.encode(), name, cut)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    ("raw", "events"),
    [
        pytest.param("data: a\n\ndata: b\n\n", [event("a"), event("b")], id="LF"),
        pytest.param("data:a\r\n\r\ndata:b\r\n\r\n", [event("a"), event("b")], id="CRLF, no space"),
        pytest.param("data: a\r\rdata: b\r\r", [event("a"), event("b")], id="CR"),
        pytest.param("data: a\r\n\ndata: b\n\r\n", [event("a"), event("b")], id="mixed"),
        pytest.param(": ping\n\n:\n\ndata: a\n\n", [event("a")], id="comments"),
        pytest.param('data: {"x":\ndata: 1}\n\n', [event('{"x":\n1}')], id="several data lines"),
        pytest.param("data:  a \n\n", [event(" a ")], id="only one space is cut"),
        pytest.param("data\n\n", [event("")], id="data without a colon"),
        pytest.param("event: error\nid: 3\nretry: 9\ndata: a\n\ndata: b\n\n", [event("a", "error"), event("b")], id="fields"),
        pytest.param("event: ping\n\n", [], id="no data, no event"),
        pytest.param("data: x\u2028y\u0085z\x0b\x0c\n\n", [event("x\u2028y\u0085z\x0b\x0c")], id="other separators stay"),
        pytest.param("data: né 🙂\n\n", [event("né 🙂")], id="multi-byte"),
        pytest.param("\ufeffdata: a\n\n", [event("a")], id="byte order mark"),
        pytest.param("data: a\n\ndata: b\n", [event("a"), event("b", cut=True)], id="no blank line at the end"),
        pytest.param("data: a\n\ndata: b", [event("a"), event("b", cut=True)], id="no line end at the end"),
        pytest.param("data: a\n\n: bye", [event("a")], id="a comment at the end"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_events(raw: str, events: list[ServerSentEvent], size: int) -> None:
    """The events are the same, wherever reads are cut; the last is marked when its blank line is missing."""
    assert events == decoded(raw.encode(), size=size)


def test_an_event_comes_with_its_blank_line() -> None:
    """An event is not held back until the next read, not even where lines end in a bare CR."""
    assert [event("a")] == SseDecoder().feed(b"data: a\r\r")
