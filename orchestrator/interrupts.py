"""Messages that a user sends to a run under way."""

from registry.messages import UserMessage


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
    def __init__(self, messages: list[str]) -> None:
        self._messages, self._cursor = messages, 0

    def drain(self) -> UserMessage | None:
        """All messages since the last time as one pinned message, or None."""
        fresh = self._messages[self._cursor :]
        self._cursor = len(self._messages)
        if not fresh:
            return None
        return UserMessage(text="[USER INTERRUPT]\n" + "\n".join(fresh), pinned=True)
