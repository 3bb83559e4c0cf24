"""Events as server-sent events: bytes for the wire, and the ids by which a client goes on."""

import json
import re
from typing import NamedTuple

from pydantic_core import PydanticSerializationError, to_json

from orchestrator.events.project import ChannelMessage

OPENING = b": dagwright\nretry: 2000\n"
"""The first thing on every stream, at once: headers are held back by some until there is a body. `retry` is in ms.

Without an empty line, and so without an event of its own: there are clients that would take it for one.
"""

KEEP_ALIVE = b": keep-alive\n"

_ID = re.compile(r"([1-9][0-9]{0,17})\.([01])")


class EventId(NamedTuple):
    """The `place`-th message, 0 or 1, of the Fact `seq`."""

    seq: int
    place: int

    @classmethod
    def read(cls, text: str) -> "EventId | None":
        """The id that is written so, or None."""
        found = _ID.fullmatch(text)
        return cls(int(found[1]), int(found[2])) if found else None


def frame(message: ChannelMessage) -> bytes:
    """One message. Its JSON has no line breaks in it, so it is one line of data."""
    known_by = f"id: {message.id}\n" if message.id else ""
    return f"{known_by}event: {message.channel}\ndata: ".encode() + _json(message) + b"\n\n"


def _json(message: ChannelMessage) -> bytes:
    """Half a surrogate pair, which JSON can't hold and a model may well say, becomes a question mark."""
    try:
        return to_json(message.payload)
    except PydanticSerializationError:
        return json.dumps(message.payload, ensure_ascii=False).encode(errors="replace")
