"""What watchers of a run are told, and what they are told again."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.events.facts import AnswerWritten, InterruptReceived, RunEnded
from orchestrator.events.glimpses import AnswerBegan, AnswerPiece, AnswerReset, ThinkingBegan
from orchestrator.events.project import project
from orchestrator.events.recorded import Event, Recorded
from orchestrator.server import feeds
from orchestrator.server.feeds import Feed, Watch
from orchestrator.server.frames import EventId
from tests.orchestrator.events.samples import SAMPLES, SUMMARY
from tests.orchestrator.server.driving import events_of

PIECES = (AnswerPiece(text="The ", part=0, offset=0), AnswerPiece(text="answer", part=0, offset=4))
WRITTEN = AnswerWritten(text="The answer", by="m")
END = RunEnded(outcome="achieved", summary=SUMMARY, answer="The answer")


def recorded(events: Sequence[Event]) -> list[Recorded]:
    """With the places that a journal gives them."""
    seq, told = 0, []
    for event in events:
        glimpse = type(event).__module__.endswith("glimpses")
        seq += not glimpse
        told.append(Recorded(seq=None if glimpse else seq, time=0.0, run="r", event=event))
    return told


def feed_of(*events: Event, over: bool = True) -> Feed:
    feed = Feed("r")
    feed.take(recorded(events))
    if over:
        feed.end()
    return feed


def watching(feed: Feed, after: EventId | None = None) -> Watch:
    return Watch(feed, after, lambda: None)


def read(watch: Watch) -> bytes:
    """All that there is now."""
    told = b""
    while fresh := watch.next():
        told += fresh
    return told


def ids(body: bytes) -> list[str]:
    return [event.id for event in events_of(body) if event.id]


def shown(body: bytes, before: str = "") -> str:
    """The answer as a client has it that does what it is told, and `before` what it had."""
    text = before
    for event in events_of(body):
        if event.channel == "answer":
            match event.data["status"]:
                case "start" | "reset":
                    text = ""
                case "delta":
                    assert len(text) == event.data["offset"]
                    text += event.data["content"]
    return text


def test_every_fact_is_told_with_its_id() -> None:
    """In order, as `project` has it, and each once."""
    told = recorded(SAMPLES)
    expected = [message.id for each in told for message in project(each).messages if message.id]

    assert expected == ids(read(watching(feed_of(*SAMPLES), None)))


@given(cut=st.integers(min_value=0, max_value=40))
def test_cut_after_every_message(cut: int) -> None:
    """What came before the cut and what comes after it is the whole, without loss or repeat."""
    whole = ids(read(watching(feed_of(*SAMPLES), None)))
    cut = min(cut, len(whole))
    after = EventId.read(whole[cut - 1]) if cut else None

    assert whole[cut:] == ids(read(watching(feed_of(*SAMPLES), after)))


@given(joined=st.integers(min_value=0, max_value=len(SAMPLES)), cut=st.integers(min_value=0, max_value=len(SAMPLES)))
def test_cut_while_it_goes_on(joined: int, cut: int) -> None:
    """A watcher that goes on behind any message while others are still to come hears each of the later ones once."""
    told, feed = recorded(SAMPLES), Feed("r")
    feed.take(told[:joined])
    known = ids(read(watching(feed)))
    cut = min(cut, len(known))
    watch = watching(feed, EventId.read(known[cut - 1]) if cut else None)
    again = read(watch)
    for each in told[joined:]:
        feed.take([each])
        again += read(watch)

    assert ids(read(watching(feed_of(*SAMPLES), None)))[cut:] == ids(again)


def test_facts_that_come_again_are_told_once() -> None:
    """A run that goes on in another place tells its beginning again."""
    feed = feed_of(*SAMPLES, over=False)
    watch = watching(feed)
    before = read(watch)
    feed.take([each for each in recorded(SAMPLES) if each.seq is not None])

    assert b"" == read(watch)
    assert before


ANSWERED = (AnswerBegan(), *PIECES, WRITTEN, END)


@pytest.mark.parametrize("joined", range(len(ANSWERED) + 1))
@pytest.mark.parametrize("returning", [False, True], ids=["new", "back"])
def test_the_answer_is_whole_whenever_one_comes(joined: int, returning: bool) -> None:
    """Before it, in the midst of it or after it; and a client that comes back with a part of it is told to begin anew."""
    began = (InterruptReceived(text="hello"),)
    feed = Feed("r")
    told = recorded((*began, *ANSWERED))
    feed.take(told[: 1 + joined])
    watch = watching(feed, EventId(1, 0) if returning else None)
    body = read(watch)
    for each in told[1 + joined :]:
        feed.take([each])
        body += read(watch)

    assert "The answer" == shown(body, before="The ans" if returning else "")
    statuses = [event.data["status"] for event in events_of(body) if event.channel == "answer"]
    assert "done" == statuses[-1]
    if returning:
        assert "reset" == statuses[0]


def test_who_has_the_whole_answer_keeps_it() -> None:
    """Who comes back after the answer was done is not told to begin anew."""
    feed = feed_of(*ANSWERED)

    assert ["done"] == [event.channel for event in events_of(read(watching(feed, EventId(1, 0))))]


def test_a_restart_is_known_to_those_who_come_later() -> None:
    """They get the text of the part that counts."""
    feed = feed_of(*PIECES, AnswerReset(why="it broke off", part=1), AnswerPiece(text="So", part=1, offset=0), over=False)

    first, second = events_of(read(watching(feed)))

    assert ("reset", 1) == (first.data["status"], first.data["part"])
    assert ("So", 1, 0) == (second.data["content"], second.data["part"], second.data["offset"])


def test_an_answer_that_was_not_seen_coming_is_told_whole() -> None:
    """As where another process works on the run: its Glimpses stay there."""
    feed = feed_of(over=False)
    watch = watching(feed)
    feed.take(recorded((WRITTEN, END)))

    assert "The answer" == shown(read(watch))


def test_what_is_over_is_not_told_again() -> None:
    """A Glimpse is for those who are there."""
    assert b"" == read(watching(feed_of(ThinkingBegan(step="a", iteration=1))))


def test_all_at_one_place_get_the_same_bytes() -> None:
    """A thousand watchers cost one encoding, and no copy each."""
    feed = feed_of(over=False)
    watches = [watching(feed) for _ in range(1000)]
    feed.take(recorded(SAMPLES))

    first, *others = [watch.next() for watch in watches]

    assert first
    assert all(other is first for other in others)


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all that was encoded only the latest stays, and who is far behind gets the rest all the same."""
    monkeypatch.setattr(feeds, "KEPT", 1000)
    feed = feed_of(*(InterruptReceived(text="x" * 100) for _ in range(100)))

    assert [f"{seq}.0" for seq in range(1, 101)] == ids(read(watching(feed)))
    assert 1000 >= feed.kept


def test_little_is_given_at_once() -> None:
    """So that a client that does not read holds little memory."""
    feed = feed_of(*(InterruptReceived(text="x" * 1000) for _ in range(1000)))
    watch, sizes = watching(feed), []
    while fresh := watch.next():
        sizes.append(len(fresh))

    assert feeds.AT_ONCE + 2000 > max(sizes)
    assert len(sizes) > 10


def test_the_end_is_behind_the_last_event() -> None:
    """Who has read all of a feed that is over is at the end."""
    feed = feed_of(*ANSWERED)
    watch = watching(feed)
    assert not watch.at_the_end

    read(watch)

    assert watch.at_the_end


def test_one_clock_for_all_watchers() -> None:
    """Only those are woken whose silence is to be broken, and all of them at once."""
    feed = feed_of(*ANSWERED, over=False)
    with feed.watched(None) as one, feed.watched(None):
        read(one)
        for _ in range(feeds.QUIET - 1):
            before = feed.more
            feed.beat()
            assert before is feed.more
        assert not one.is_silent
        feed.beat()

        assert before is not feed.more
        assert one.is_silent


def test_nobody_is_evicted_who_has_left() -> None:
    """And those who wait for more are not mistaken for such as do not read."""
    gone = list[str]()
    feed = feed_of(*ANSWERED, over=False)
    with feed.watched(None, lambda: gone.append("waits")):
        for _ in range(2 * feeds.STALLED):
            feed.beat()

    assert [] == gone
