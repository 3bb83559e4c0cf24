"""Server-sent events out of a byte stream, however it is cut into reads.

Lines end at LF, CR or CRLF and nowhere else: the data may hold any other separator of Unicode. It stays bytes, so a
character split across two reads can't be hurt.
"""

import re
from dataclasses import dataclass, replace

_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event. `cut` marks the last one of a stream that ended before the blank line that closes it."""

    data: bytes
    event: str = "message"
    cut: bool = False


class SseDecoder:
    """Feed it what arrives; it returns the events that are complete. At the end ask `end` for the rest."""

    __slots__ = ("_after_cr", "_data", "_event", "_rest", "_started")

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._event = ""
        self._after_cr = False
        self._started = False

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that `chunk` completes, in order."""
        if self._after_cr and chunk:
            # The CR ended its line when it came; an LF now is the other half of that line end.
            chunk, self._after_cr = chunk.removeprefix(b"\n"), False
        self._after_cr = self._after_cr or chunk.endswith(b"\r")
        lines = _LINE_END.split(self._rest + chunk)
        self._rest = lines.pop()
        return [event for line in lines if (event := self._line(line)) is not None]

    def end(self) -> ServerSentEvent | None:
        """What was left when the stream ended, if that is data: marked as cut, for it may lack its end."""
        if self._rest:
            self._line(self._rest)
            self._rest = b""
        left = self._closed()
        return left and replace(left, cut=True)

    def _line(self, line: bytes) -> ServerSentEvent | None:
        if not self._started:
            self._started, line = True, line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            return self._closed()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._event = value.decode(errors="replace")
        return None

    def _closed(self) -> ServerSentEvent | None:
        data, event = self._data, self._event
        self._data, self._event = [], ""
        return ServerSentEvent(b"\n".join(data), event or "message") if data else None
