"""Messages that a user sends to a run under way."""

from collections.abc import Sequence

from registry.messages import UserMessage

INTERRUPT = "[USER INTERRUPT]\n"
"""What the user's message to a run under way begins with, as a model reads it."""


class InterruptQueue:
    """One for each run. Every reader has its own cursor, so every running agent hears every message."""

    def __init__(self) -> None:
        self._messages: list[str] = []

    def put(self, text: str) -> None:
        """Send a message; blank ones are not sent."""
        if text.strip():
            self._messages.append(text.strip())

    def reader(self) -> "InterruptReader":
        """A cursor at the beginning: what was said before an agent began is for it too."""
        return InterruptReader(self._messages)


class InterruptReader:
    def __init__(self, messages: Sequence[str]) -> None:
        self._messages, self._cursor = messages, 0

    @property
    def waiting(self) -> tuple[str, ...]:
        """The messages that are still to be read."""
        return tuple(self._messages[self._cursor :])

    def drain(self) -> tuple[str, ...]:
        """All messages since the last time."""
        fresh = self.waiting
        self.skip(len(fresh))
        return fresh

    def skip(self, count: int) -> None:
        """Leave out so many messages, as far as there are any: they were read in an earlier life of the run."""
        self._cursor = min(self._cursor + count, len(self._messages))


def as_message(texts: Sequence[str]) -> UserMessage:
    """Several messages as the one that a model reads."""
    return UserMessage(text=INTERRUPT + "\n".join(texts), pinned=True)
