"""How one run of an agent hears what the user says meanwhile, and hears it at the same places when it is told again."""

from orchestrator.events.facts import InterruptHeard
from orchestrator.interrupts import InterruptQueue, as_message
from orchestrator.ledger import Ledger
from registry.calls import Call
from registry.messages import UserMessage


class Ears:
    """One agent's cursor in the queue. Its places to listen at are numbered, from 1.

    What is heard is written down before a model reads it. A resumed agent hears at each place what it heard there; where it
    heard nothing and went on, it hears nothing again, so that it asks what it asked.
    """

    def __init__(self, queue: InterruptQueue, ledger: Ledger, call: Call) -> None:
        self._reader, self._ledger, self._call = queue.reader(), ledger, call
        self._place = 0
        self._replies = 0
        self._unanswered: tuple[str, ...] = ()

    async def hear(self) -> UserMessage | None:
        """All that was said since the last time, as one pinned message, or None."""
        self._place += 1
        call = self._call
        texts = self._ledger.state.heard.get((call.scope, call.attempt, self._place))
        if texts is not None:
            self._reader.skip(len(texts))
        elif self._reader.waiting:
            texts = await self._listen()
        else:
            return None
        self._unanswered += texts
        return as_message(texts) if texts else None

    def replied(self) -> None:
        """There was one more reply, whatever it says."""
        self._replies += 1

    def answered(self) -> None:
        """A reply has taken all into account that was heard."""
        self._unanswered = ()

    @property
    def unanswered(self) -> tuple[str, ...]:
        """What the user said and no reply has taken into account, heard or not."""
        return self._unanswered + self._reader.waiting

    async def _listen(self) -> tuple[str, ...]:
        if self._ledger.answered(self._call) > self._replies:
            return ()
        texts = self._reader.drain()
        call = self._call
        heard = InterruptHeard(scope=call.scope, attempt=call.attempt, step=call.label, place=self._place, texts=texts)
        await self._ledger.record(heard)
        return texts
