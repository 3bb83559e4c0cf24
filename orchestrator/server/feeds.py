"""What the watchers of one run are told: encoded once for all of them, and read by each from a place of its own."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager

import anyio

from orchestrator.events.facts import AnswerWritten, RunEnded, Word
from orchestrator.events.glimpses import AnswerBegan, AnswerPiece, AnswerReset
from orchestrator.events.project import project
from orchestrator.events.recorded import Event, Recorded
from orchestrator.server.frames import EventId, frame

AT_ONCE = 64 * 1024
"""Bytes that a watcher is given at a time, or one event if that is longer."""

KEPT = 4 * 1024 * 1024
"""Bytes of encoded events that a feed keeps. What is older is encoded anew for whoever is so far behind."""


QUIET = 15
"""Beats of silence after which a comment keeps the connection open."""

STALLED = 20
"""Beats for which a client may leave what it is sent unread. After that it is a watcher no more."""


class Answer:
    """As much of the answer as was told: the pieces of its part `part`."""

    def __init__(self) -> None:
        self.part, self._pieces = 0, list[str]()

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def fold(self, event: Event) -> None:
        """Take in one more event. Most change nothing."""
        match event:
            case AnswerBegan():
                self._begin(0)
            case AnswerReset(part=part):
                self._begin(part)
            case AnswerPiece(text=text, part=part, offset=offset):
                if not offset:
                    self._begin(part)
                self._pieces.append(text)
            case _:
                pass

    def _begin(self, part: int) -> None:
        self.part = part
        self._pieces.clear()


class Feed:
    """Events of a run in the order they came, from its first Fact on. Facts that come again are not taken again."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.over = self.ended = self.answered = False
        self.answer = Answer()
        self.kept = self.beats = 0
        self.more = anyio.Event()
        self._told: list[Recorded] = []
        self._places: list[int] = []
        self._untold: set[int] = set()
        self._encoded: dict[int, tuple[bytes, ...]] = {}
        self._chunks: dict[int, tuple[bytes, int]] = {}
        self._watches: set[Watch] = set()

    @property
    def length(self) -> int:
        """How many events were told."""
        return len(self._told)

    @property
    def facts(self) -> int:
        """The `seq` of the last Fact."""
        return len(self._places)

    def take(self, batch: Iterable[Recorded]) -> None:
        """Add what is new, and wake whoever waits for it."""
        before = len(self._told)
        for recorded in batch:
            if recorded.seq is None or recorded.seq > self.facts:
                self._take(recorded)
        if len(self._told) > before:
            self._wake()

    def end(self) -> None:
        """Nothing will come any more: watchers end after what they have not read yet."""
        self.over = True
        self._wake()

    def beat(self) -> None:
        """A second has passed: the one clock of all watchers, since one for each would cost more than all that they are told."""
        self.beats += 1
        if any([watch.look() for watch in self._watches]):
            self._wake()

    @contextmanager
    def watched(self, after: EventId | None, evict: Callable[[], None] = lambda: None) -> "Iterator[Watch]":
        """From behind this message on, or from the beginning. `evict` is called when what it is sent is left unread."""
        watch = Watch(self, after, evict)
        self._watches.add(watch)
        try:
            yield watch
        finally:
            self._watches.discard(watch)

    def place_behind(self, after: EventId | None) -> int:
        """The place of the event that this message belongs to if there may be another one of it, else of the next."""
        if after is None:
            return 0
        if after.seq > len(self._places):
            return len(self._told)
        return self._places[after.seq - 1] + after.place

    def chunk(self, cursor: int) -> tuple[bytes, int]:
        """What was told from this place on, and the place behind it. Whoever stands at the same place gets the same bytes."""
        if cursor in self._chunks:
            return self._chunks[cursor]
        told, following = self._joined(cursor)
        if following == len(self._told):  # where most of them stand; of those who are far behind each has another place
            self._chunks[cursor] = told, following
        return told, following

    def messages(self, place: int) -> tuple[bytes, ...]:
        """The messages of one event, encoded."""
        if place not in self._encoded:
            self._encoded[place] = encoded = tuple(map(frame, project(self._told[place]).messages))
            self.kept += sum(map(len, encoded))
            while self.kept > KEPT and len(self._encoded) > 1:
                self.kept -= sum(map(len, self._encoded.pop(next(iter(self._encoded)))))
        return self._encoded[place]

    def again(self, place: int) -> tuple[bytes, ...]:
        """`messages` for those who were not there: a Glimpse is over, and of the answer they have not seen all."""
        recorded = self._told[place]
        if recorded.seq is None:
            return ()
        if isinstance(recorded.event, AnswerWritten):
            return (*self.anew(0, recorded.event.text), *self.messages(place))
        return self.messages(place)

    def anew(self, part: int, text: str) -> Iterator[bytes]:
        """The answer so far, for those who may have seen another part of it."""
        told: list[Event] = [AnswerReset(why="the stream goes on", part=part)]
        if text:
            told.append(AnswerPiece(text=text, part=part, offset=0))
        for event in told:
            yield from map(frame, project(Recorded(seq=None, time=0.0, run=self.run, event=event)).messages)

    def _take(self, recorded: Recorded) -> None:
        place, event = len(self._told), recorded.event
        self._told.append(recorded)
        self.answer.fold(event)
        if recorded.seq is None:
            return
        self._places.append(place)
        if isinstance(event, AnswerWritten):
            if self.answer.text != event.text:  # another process wrote it, and its pieces were not seen here
                self._untold.add(place)
            self.answer, self.answered = Answer(), True
        if not isinstance(event, Word):
            self.ended = isinstance(event, RunEnded)

    def _joined(self, cursor: int) -> tuple[bytes, int]:
        parts, size = list[bytes](), 0
        while cursor < len(self._told) and size < AT_ONCE:
            fresh = self.again(cursor) if cursor in self._untold else self.messages(cursor)
            parts += fresh
            size += sum(map(len, fresh))
            cursor += 1
        return b"".join(parts), cursor

    def _wake(self) -> None:
        self._chunks.clear()
        self.more.set()
        self.more = anyio.Event()


class Watch:
    """One watcher's place. What was told before it came is told again as far as it stands in the journal."""

    def __init__(self, feed: Feed, after: EventId | None, evict: Callable[[], None]) -> None:
        self._evict, self._sending, self._since = evict, False, feed.beats
        self._feed, self._joined, self._cursor = feed, feed.length, feed.place_behind(after)
        self._skip = after is not None and after.place == 0 and after.seq <= feed.facts
        text = "" if feed.answered else feed.answer.text
        going_on = not feed.answered and (text or after is not None)
        self._answer = b"".join(feed.anew(feed.answer.part, text)) if going_on else b""

    def next(self) -> bytes:
        """What there is to tell now; empty where it has all been told."""
        if self._cursor < self._joined and (told := self._again()):
            return told
        answer, self._answer = self._answer, b""
        told, self._cursor = self._feed.chunk(self._cursor)
        return answer + told

    @property
    def at_the_end(self) -> bool:
        """Whether nothing will come any more."""
        return self._feed.over and self._cursor >= self._feed.length and not self._answer

    @property
    def is_silent(self) -> bool:
        """Whether nothing was sent to it for so long that somebody may take the connection for dead."""
        return not self._sending and self._feed.beats - self._since >= QUIET

    async def more(self) -> None:
        """Wait until something was told, the silence is to be broken, or the feed is over."""
        await self._feed.more.wait()

    async def hand(self, sent: Awaitable[None]) -> None:
        """Wait for something to be sent to it."""
        self._sending, self._since = True, self._feed.beats
        await sent
        self._sending, self._since = False, self._feed.beats

    def look(self) -> bool:
        """A beat has passed. Whether the silence is to be broken."""
        if self._sending and self._feed.beats - self._since >= STALLED:
            self._evict()
        return self.is_silent

    def _again(self) -> bytes:
        parts, size = list[bytes](), 0
        while self._cursor < self._joined and size < AT_ONCE:
            fresh = self._feed.messages(self._cursor)[1:] if self._skip else self._feed.again(self._cursor)
            self._skip = False
            parts += fresh
            size += sum(map(len, fresh))
            self._cursor += 1
        return b"".join(parts)
