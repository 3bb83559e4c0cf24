"""What a person says to a run that waits, whether the run is under way or nobody is working on it."""

import sys

import anyio

from orchestrator.errors import RunHeld, UnknownWaiting
from orchestrator.events.facts import Answered, CancelRequested, InterruptReceived, StopRequested, Word
from orchestrator.events.recorded import Recorded
from orchestrator.interrupts import InterruptQueue
from orchestrator.journal.protocol import WORD, Journal
from orchestrator.ledger import CLAIM_SECONDS, reopen_ledger
from orchestrator.ports import Ports
from orchestrator.run import Answer, Run
from orchestrator.state import RunState, answer_to, folded
from orchestrator.waiting import Decision


async def decide(
    journal: Journal, run: str, waiting: str, decision: Decision, *, text: str = "", by: str = "", ports: Ports | None = None
) -> Answered:
    """Answer to a run of the journal, whoever works on it: it goes on when it hears of it, or when it is resumed.

    Raises `UnknownRun`, and `UnknownWaiting` when the run does not wait for this.
    """
    answer = answer_to(run, await _state(journal, run), waiting, decision, text=text, by=by)
    if (await _say(journal, run, answer, ports or Ports())).event != answer:
        raise UnknownWaiting(run, waiting, "somebody else has just answered")
    return answer


async def cancel(journal: Journal, run: str, *, why: str = "", ports: Ports | None = None) -> bool:
    """End a run of the journal for good. Returns False when that is up to the process that works on it, which hears of it soon.

    Raises `UnknownRun`. A run that has ended stays as it is, but for one that failed, which could have been resumed.
    """
    ports = ports or Ports()
    state = await _state(journal, run)
    if state.over:
        return True
    await _say(journal, run, CancelRequested(why=why), ports)
    try:
        ledger = await reopen_ledger(journal, run, ports)
    except RunHeld:
        return False
    if ledger.state.cancelled:
        await Run(ledger, InterruptQueue()).live(_nothing)
    else:  # it has ended while we spoke
        await ledger.release()
    return True


async def speak(journal: Journal, run: str, word: InterruptReceived | StopRequested, *, ports: Ports | None = None) -> None:
    """Send a message to a run of the journal, or stop it: whoever works on it hears of it, or it is heard when it is resumed.

    Raises `UnknownRun`.
    """
    await journal.read(run, after=sys.maxsize)  # a claim of a run that nobody knows would begin it
    await _say(journal, run, word, ports or Ports())


async def _nothing() -> Answer:
    raise AssertionError("a cancelled run is not told")


async def _state(journal: Journal, run: str) -> RunState:
    return folded(recorded.event for recorded in await journal.read(run))


async def _say(journal: Journal, run: str, fact: Word, ports: Ports) -> Recorded:
    """Write a word into a run that somebody else may be working on. Returns what counts."""
    writer = await journal.claim(run, holder=ports.holder(), ttl=CLAIM_SECONDS, scope=WORD)
    try:
        (counts,) = await writer.append((fact, ports.now().timestamp()))
    finally:
        with anyio.CancelScope(shield=True):
            await writer.release()
    return counts
