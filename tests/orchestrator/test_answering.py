"""What a person says to a run of the journal from outside."""

import pytest

from orchestrator import MemoryJournal
from orchestrator.answering import decide
from orchestrator.errors import UnknownRun, UnknownWaiting
from orchestrator.events.facts import Answered, RunStarted, StepPaused
from orchestrator.journal.memory import MemoryWriter
from orchestrator.journal.protocol import WHOLE_RUN, WORD
from orchestrator.state import folded
from orchestrator.waiting import Decision, Waiting
from tests.scenario import ports

pytestmark = pytest.mark.anyio

SEND = Waiting(step="a", key="k1", what="send this?", kind="approval")
WHERE = Waiting(step="b", key="k2", what="where to?", kind="question")
SENT = Waiting(step="c", key="k3", what="was it sent?", kind="in_doubt")


async def waiting_run(journal: MemoryJournal | None = None) -> MemoryJournal:
    journal = journal or MemoryJournal()
    writer = await journal.claim("r", holder="earlier", ttl=60)
    started = RunStarted(goal="g", plan=None, inputs={}, today="2026-01-02")
    await writer.append(*((fact, 1.0) for fact in (started, *(StepPaused(waiting=each) for each in (SEND, WHERE, SENT)))))
    return journal


@pytest.mark.parametrize(
    ("waiting", "decision"),
    [
        pytest.param(SEND, "approve", id="approve"),
        pytest.param(SEND, "reject", id="reject"),
        pytest.param(WHERE, "answer", id="answer"),
        pytest.param(SENT, "happened", id="happened"),
        pytest.param(SENT, "retry", id="retry"),
        pytest.param(SENT, "skip", id="skip"),
        pytest.param(SENT, "fail", id="fail"),
    ],
)
async def test_an_answer_is_written_down(waiting: Waiting, decision: Decision) -> None:
    """Though somebody works on the run; by the beginning of the id; and what was answered waits no more."""
    journal = await waiting_run()
    answered = await decide(journal, "r", waiting.id[:4], decision, text="so", by="Ada", ports=ports("another"))
    state = folded(recorded.event for recorded in await journal.read("r"))

    assert Answered(waiting=waiting.id, key=waiting.key, decision=decision, text="so", by="Ada") == answered
    assert answered == state.answers[waiting.id]
    assert [each for each in (SEND, WHERE, SENT) if each != waiting] == list(state.pending)


@pytest.mark.parametrize(
    ("waiting", "decision", "why"),
    [
        pytest.param("nope", "approve", "does not wait for 'nope': there are: ", id="unknown"),
        pytest.param("", "approve", "does not wait for ''", id="nothing"),
        pytest.param(SEND.id, "answer", "to approval one can say approve or reject, and not answer", id="approval"),
        pytest.param(WHERE.id, "approve", "to question one can say answer, and not approve", id="question"),
        pytest.param(SENT.id, "approve", "to in_doubt one can say happened or retry or skip or fail", id="doubt"),
    ],
)
async def test_what_does_not_fit_is_refused(waiting: str, decision: Decision, why: str) -> None:
    """With what one can say, and nothing is written."""
    journal = await waiting_run()

    with pytest.raises(UnknownWaiting, match=why):
        await decide(journal, "r", waiting, decision)
    assert 4 == len(await journal.read("r"))


async def test_the_first_answer_counts() -> None:
    """Who answers again is told that nothing waits under the id any more."""
    journal = await waiting_run()
    await decide(journal, "r", SEND.id, "reject")

    with pytest.raises(UnknownWaiting):
        await decide(journal, "r", SEND.id, "approve")
    assert "reject" == folded(recorded.event for recorded in await journal.read("r")).answers[SEND.id].decision


async def test_of_two_that_answer_at_once_one_is_told_so() -> None:
    """It is the journal that decides, and the one that came second is not told that it counts."""

    class Quick(MemoryJournal):
        async def claim(self, run: str, *, holder: str, ttl: float, scope: str = WHOLE_RUN) -> MemoryWriter:
            writer = await super().claim(run, holder=holder, ttl=ttl, scope=scope)
            if scope == WORD:
                await writer.append((Answered(waiting=SEND.id, key=SEND.key, decision="reject"), 2.0))
            return writer

    journal = await waiting_run(Quick())

    with pytest.raises(UnknownWaiting, match="somebody else has just answered"):
        await decide(journal, "r", SEND.id, "approve")


async def test_an_unknown_run_is_said_so() -> None:
    """And the answer does not begin it."""
    journal = MemoryJournal()

    with pytest.raises(UnknownRun, match="'nope'"):
        await decide(journal, "nope", "x", "approve")
    assert () == await journal.runs()


def test_an_id_stands_for_all_that_is_shown() -> None:
    """Another step, key, kind, sentence or begin is another id."""
    others = [
        Waiting(step="z", key="k1", what="send this?", kind="approval"),
        Waiting(step="a", key="k9", what="send this?", kind="approval"),
        Waiting(step="a", key="k1", what="send that?", kind="approval"),
        Waiting(step="a", key="k1", what="send this?", kind="in_doubt"),
        Waiting(step="a", key="k1", what="send this?", kind="approval", nth=2),
    ]

    assert 6 == len({SEND.id, *(other.id for other in others)})
    assert SEND.id == Waiting(step="a", key="k1", what="send this?", kind="approval").id
