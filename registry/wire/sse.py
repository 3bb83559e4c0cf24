"""Server-sent events out of a byte stream, however it is cut into reads.

Lines end at LF, CR or CRLF and nowhere else: the data may hold any other separator of Unicode. It stays bytes, so a
character split across two reads can't be hurt.
"""

import re
from typing import NamedTuple

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ServerSentEvent(NamedTuple):
    """One event. `cut` marks the last one of a stream that ended before the blank line that closes it."""

    data: bytes
    event: str = "message"
    cut: bool = False


class SseDecoder:
    """Feed it what arrives; it returns the events that are complete. At the end ask `end` for the rest."""

    __slots__ = ("_after_cr", "_data", "_event", "_rest")

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._event = ""
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that `chunk` completes, in order."""
        lines = self._split(chunk) if self._after_cr or b"\r" in chunk else (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        events, data = [], self._data
        for line in lines:
            if not line:
                if data:
                    events.append(ServerSentEvent(b"\n".join(data), self._event or "message"))
                    data.clear()
                self._event = ""
            elif line.startswith(b"data: "):  # nearly every line of a long stream
                data.append(line[6:])
            else:
                self._field(line)
        return events

    def end(self) -> ServerSentEvent | None:
        """What was left when the stream ended, if that is data: marked as cut, for it may lack its end."""
        if self._rest:
            self._field(self._rest)
            self._rest = b""
        return ServerSentEvent(b"\n".join(self._data), self._event or "message", cut=True) if self._data else None

    def _split(self, chunk: bytes) -> list[bytes]:
        """What came, cut at any kind of line end."""
        if self._after_cr and chunk:
            # The CR ended its line when it came; an LF now is the other half of that line end.
            chunk, self._after_cr = chunk.removeprefix(b"\n"), False
        self._after_cr = self._after_cr or chunk.endswith(b"\r")
        return _LINE_END.split(self._rest + chunk)

    def _field(self, line: bytes) -> None:
        field, _, value = line.removeprefix(_BYTE_ORDER_MARK).partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._event = value.decode(errors="replace")
