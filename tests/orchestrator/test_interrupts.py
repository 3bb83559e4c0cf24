"""Messages to a run under way."""

from orchestrator.interrupts import InterruptQueue, as_message
from registry.messages import UserMessage


def test_several_messages_are_one() -> None:
    """However many there are, a model reads one pinned message, in their order."""
    assert UserMessage(text="[USER INTERRUPT]\nfirst\nsecond", pinned=True) == as_message(("first", "second"))


def test_every_reader_hears_every_message() -> None:
    """What one reader has read the others still read, and none reads it twice."""
    queue = InterruptQueue()
    one, other = queue.reader(), queue.reader()
    queue.put("stop")
    first = one.drain()
    queue.put("go")

    assert ("stop",) == first
    assert ("stop", "go") == other.drain()
    assert ("go",) == one.drain()
    assert () == one.drain()


def test_a_reader_begins_at_the_beginning() -> None:
    """A message from before a reader was made is for it too: none is lost between two steps."""
    queue = InterruptQueue()
    queue.put("old")

    assert ("old",) == queue.reader().drain()


def test_blank_messages_are_not_sent() -> None:
    """A message of nothing but space interrupts nobody, and space around one is dropped."""
    queue = InterruptQueue()
    reader = queue.reader()
    queue.put(" \n")
    assert () == reader.waiting

    queue.put("  hello \n")
    assert ("hello",) == reader.waiting
    assert ("hello",) == reader.drain()


def test_what_was_read_before_is_left_out() -> None:
    """As many messages as there are: what has not been sent yet is not left out."""
    queue = InterruptQueue()
    reader = queue.reader()
    queue.put("old")
    reader.skip(2)
    queue.put("new")

    assert ("new",) == reader.waiting
