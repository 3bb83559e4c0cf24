"""From the events of a stream to the pieces of a reply, and at its end to the whole of it."""

from collections.abc import Collection

import orjson

from registry.errors import Garbled, Truncated
from registry.messages import Json, ReasoningPiece, Reply
from registry.usage import UNMETERED, Usage
from registry.wire.calls import CallAssembly
from registry.wire.decoding import decoded
from registry.wire.faults import fault_inside
from registry.wire.lift import (
    call_entries,
    content,
    finish_of,
    first_choice,
    model_of,
    reasoning,
    refusal,
    refuse_error,
)
from registry.wire.metering import usage_of
from registry.wire.sse import ServerSentEvent, SseDecoder
from registry.wire.surrogates import ends_in_half, mended
from registry.wire.thinking import Pieces, ThinkSplitter

DONE = b"[DONE]"

_TALK = {"role", "content"}


class Assembler:
    """One attempt at one streamed reply. `taken` are the call ids that the transcript has already."""

    def __init__(self, endpoint: str, taken: Collection[str] = ()) -> None:
        self._endpoint, self._taken = endpoint, taken
        self._decoder = SseDecoder()
        self._said = ThinkSplitter()
        self._thought: list[str] = []
        self._calls = CallAssembly()
        self._half = ""
        self._begun = self._refused = False
        self._finish: Json = None
        self._usage: Usage | None = None
        self._model = ""
        self._done = False

    @property
    def done(self) -> bool:
        """Whether the endpoint said that nothing more comes."""
        return self._done

    @property
    def begun(self) -> bool:
        """Whether the model has said, thought or asked for anything yet."""
        return self._begun

    @property
    def complete(self) -> bool:
        """Whether the reply has its end: a finish reason, or the closing mark."""
        return self._done or self._finish is not None

    @property
    def usage(self) -> Usage:
        """What the endpoint has reported so far; the last report counts."""
        return self._usage or UNMETERED

    def read(self, chunk: bytes) -> Pieces:
        """The pieces that some more bytes of the stream add. Raises as `feed` does."""
        pieces: Pieces = []
        for event in self._decoder.feed(chunk):
            pieces += self.feed(event)
        return pieces

    def feed(self, event: ServerSentEvent) -> Pieces:
        """The pieces that one event adds. Raises Garbled, or the error that the endpoint reports in it."""
        data = event.data.strip()
        if self._done or not data:
            return []
        if data == DONE:
            self._done = True
            return []
        said = _only_said(data) if self._model and event.event != "error" else None
        if said is not None:
            self._begun = self._begun or said != ""
            return self._speak(said)
        try:
            value = decoded(data, self._endpoint)
        except Garbled:
            if event.cut:  # a chunk that lost its end says nothing, and no end mark will follow it
                return []
            raise
        if event.event == "error":
            raise fault_inside(self._endpoint, value)
        return self._chunk(value) if isinstance(value, dict) else []

    def reply(self) -> tuple[Pieces, Reply]:
        """What was held back, and the whole reply. Raises Truncated when the stream ended before the reply did."""
        last = self._decoder.end()
        held = self.feed(last) if last else []
        if not self.complete:
            raise Truncated(self._endpoint, "the stream ended without a finish reason", usage=self.usage)
        calls = self._calls.calls(self._taken)
        finish = finish_of(self._finish, self._endpoint, calls=bool(calls), refused=self._refused, usage=self.usage)
        held += self._speak("", last=True) + self._said.end(cut_off=finish == "length")
        return held, Reply(
            text=self._said.text,
            calls=calls,
            reasoning=mended("".join(self._thought)) or self._said.reasoning,
            finish=finish,
            usage=self.usage,
            model=self._model,
        )

    def _chunk(self, value: dict[str, Json]) -> Pieces:
        if "error" in value:
            refuse_error(value, self._endpoint)
        if not self._model:
            self._model = model_of(value)
        if usage := value.get("usage"):
            self._usage = usage_of(usage)
        choice = first_choice(value)
        if choice is None:
            return []
        if "error" in choice:
            refuse_error(choice, self._endpoint)
        if finish := choice.get("finish_reason"):
            self._finish = finish
        delta = choice.get("delta") or choice.get("message") or {"content": choice.get("text")}
        return self._delta(delta) if isinstance(delta, dict) else []

    def _delta(self, delta: dict[str, Json]) -> Pieces:
        pieces: Pieces = []
        if thought := reasoning(delta):
            self._thought.append(thought)
            pieces.append(ReasoningPiece(mended(thought)))
        if no := refusal(delta):
            self._refused = True
        if said := content(delta) or no:
            pieces += self._speak(said)
        if entries := call_entries(delta):
            self._calls.add(entries)
        self._begun = self._begun or bool(thought or said or entries)
        return pieces

    def _speak(self, said: str, *, last: bool = False) -> Pieces:
        """Pass text on; half a character waits for its other half."""
        if self._half or not said.isascii():
            said, self._half = self._half + said, ""
            if ends_in_half(said) and not last:
                said, self._half = said[:-1], said[-1]
            said = mended(said)
        return self._said.feed(said)


def _only_said(data: bytes) -> str | None:
    """The text of a chunk that does nothing but add some, as nearly every one of a long stream does; None for any other.

    It is read without the care that is due to all that is not text.
    """
    try:
        value = orjson.loads(data)
        (choice,) = value["choices"]
        delta = choice["delta"]
        said = delta["content"]
    except (LookupError, TypeError, ValueError):
        return None
    if value.get("error") or value.get("usage") or choice.get("error") or choice.get("finish_reason") or choice.get("index"):
        return None
    alone = len(delta) == 1 or not any(more for name, more in delta.items() if name not in _TALK)
    return said if alone and isinstance(said, str) else None
