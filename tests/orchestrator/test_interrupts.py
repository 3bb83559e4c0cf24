"""Messages to a run under way."""

from orchestrator.interrupts import InterruptQueue
from registry.messages import UserMessage


def test_several_messages_are_one() -> None:
    """All messages since the last time become one pinned message, in order; with none there is none."""
    queue = InterruptQueue()
    reader = queue.reader()
    queue.put("first")
    queue.put("second")

    assert UserMessage(text="[USER INTERRUPT]\nfirst\nsecond", pinned=True) == reader.drain()
    assert reader.drain() is None


def test_every_reader_hears_every_message() -> None:
    """What one reader has read the others still read."""
    queue = InterruptQueue()
    one, other = queue.reader(), queue.reader()
    queue.put("stop")
    first = one.drain()
    queue.put("go")

    assert first is not None
    assert "[USER INTERRUPT]\nstop\ngo" == getattr(other.drain(), "text", None)
    assert "[USER INTERRUPT]\ngo" == getattr(one.drain(), "text", None)


def test_a_reader_begins_at_the_beginning() -> None:
    """A message from before a reader was made is for it too: none is lost between two steps."""
    queue = InterruptQueue()
    queue.put("old")

    assert "[USER INTERRUPT]\nold" == getattr(queue.reader().drain(), "text", None)


def test_blank_messages_are_not_sent() -> None:
    """A message of nothing but space interrupts nobody, and space around one is dropped."""
    queue = InterruptQueue()
    reader = queue.reader()
    queue.put(" \n")
    assert reader.drain() is None

    queue.put("  hello \n")
    assert "[USER INTERRUPT]\nhello" == getattr(reader.drain(), "text", None)
