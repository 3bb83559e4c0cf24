"""`dagwright pending`, `approve`, `reject`, `answer`, `tell`, `stop`, `cancel`: what a person says to a run."""

import json

import anyio
import pytest

from orchestrator.events.facts import Answered, InterruptReceived, RunEnded, RunSuspended, StepPaused, StopRequested, Word
from orchestrator.state import RunState, folded
from orchestrator.waiting import Waiting
from tests.orchestrator.cli.terminal import ScriptedWorld, remembers, typed
from tests.orchestrator.cli.view.script import PLANNING, SCRIPT, SUMMARY

SEND = Waiting(step="look", key="k1", what="Send\nthis?", kind="approval")
WHERE = Waiting(step="sum", key="k2", what="Where to?", kind="question")
SENT = Waiting(step="look", key="k3", what="Was it sent?", kind="in_doubt")


def waits(*waiting: Waiting, run: str = "abc", held: tuple[str, ...] = ()) -> ScriptedWorld:
    """A world with a run that waits for this, and one that has ended."""
    pauses = (StepPaused(waiting=each) for each in waiting)
    return remembers({"done": SCRIPT, run: (*PLANNING, *pauses, RunSuspended(waiting=waiting, summary=SUMMARY))}, held=held)


def state(world: ScriptedWorld, run: str = "abc") -> RunState:
    return folded(recorded.event for recorded in anyio.run(world.kept.read, run))


def test_all_that_waits_is_listed() -> None:
    """Of every run, with the commands that answer it."""
    result = typed("pending", world=waits(SEND, WHERE))

    assert 0 == result.exit_code
    assert [
        f"step look waits for approval ({SEND.id}):",
        "  Send",
        "  this?",
        f"dagwright approve abc {SEND.id}",
        f"dagwright reject abc {SEND.id}",
        f"step sum asks ({WHERE.id}):",
        "  Where to?",
        f"dagwright answer abc {WHERE.id} 'YOUR ANSWER'",
    ] == result.stdout.splitlines()


def test_what_waits_in_one_run_is_listed() -> None:
    """By the beginning of its id; where nothing waits, that is said."""
    world = waits(SEND)

    assert SEND.id in typed("pending", "a", world=world).stdout
    nothing = typed("pending", "done", world=world)
    assert ("", "dagwright: nothing waits for an answer\n") == (nothing.stdout, nothing.stderr)


@pytest.mark.parametrize(
    ("outcome", "listed"), [pytest.param("achieved", False, id="for good"), pytest.param("failed", True, id="it may be resumed")]
)
def test_nobody_hears_an_answer_to_a_run_that_has_ended(outcome: str, listed: bool) -> None:
    """What its steps once asked waits no more, unless it may be resumed."""
    world = remembers({"abc": (*PLANNING, StepPaused(waiting=SEND), RunEnded(outcome=outcome, summary=SUMMARY))})

    assert listed == (SEND.id in typed("pending", world=world).stdout)
    assert listed == (SEND.id in typed("pending", "abc", world=world).stdout)
    assert listed == (SEND.id in typed("show", "abc", world=world).stdout)
    assert (0 if listed else 2) == typed("approve", "abc", world=world).exit_code


def test_programs_get_lines_of_json() -> None:
    """One for each thing that waits."""
    (line,) = typed("pending", "--json", world=waits(SEND)).stdout.splitlines()

    assert {"run": "abc", "id": SEND.id, "kind": "approval", "step_id": "look", "what": "Send\nthis?"} == json.loads(line)


@pytest.mark.parametrize(
    ("waiting", "arguments", "expected"),
    [
        pytest.param(SEND, ["approve", "abc", SEND.id], ("approve", ""), id="approve"),
        pytest.param(SEND, ["approve", "a", SEND.id[:3]], ("approve", ""), id="approve, shortened"),
        pytest.param(SEND, ["approve", "abc"], ("approve", ""), id="approve the only one"),
        pytest.param(SEND, ["reject", "abc", "--why", "too dear"], ("reject", "too dear"), id="reject"),
        pytest.param(WHERE, ["answer", "abc", WHERE.id, "to the north"], ("answer", "to the north"), id="answer"),
        pytest.param(WHERE, ["answer", "abc", "north"], ("answer", "north"), id="answer the only one"),
        pytest.param(SENT, ["answer", "abc", SENT.id, "--happened", "sent"], ("happened", "sent"), id="it happened"),
        pytest.param(SENT, ["answer", "abc", "--happened", ""], ("happened", ""), id="it happened, and nothing came of it"),
        pytest.param(SENT, ["answer", "abc", "--retry"], ("retry", ""), id="do it again"),
        pytest.param(SENT, ["answer", "abc", SENT.id, "--skip"], ("skip", ""), id="go on without it"),
        pytest.param(SENT, ["answer", "abc", "--fail"], ("fail", ""), id="it failed"),
    ],
)
def test_an_answer_is_written_down(waiting: Waiting, arguments: list[str], expected: tuple[str, str]) -> None:
    """What exactly was answered is printed, and how to go on."""
    world = waits(waiting)

    result = typed(*arguments, "--by", "Ada", world=world)

    assert (0, "") == (result.exit_code, result.stderr)
    said = state(world).answers[waiting.id]
    assert (*expected, "Ada") == (said.decision, said.text, said.by)
    heading, *lines = result.stdout.splitlines()
    assert heading.endswith(f": step {waiting.step} of run abc ({waiting.id})")
    assert [f"  {line}" for line in waiting.what.splitlines()] == lines[: len(waiting.what.splitlines())]
    assert "go on with: dagwright resume abc" == lines[-1]


@pytest.mark.parametrize(
    ("waiting", "arguments", "told"),
    [
        pytest.param((SEND,), ["approve", "x"], "no run 'x' in the journal", id="no such run"),
        pytest.param((SEND,), ["approve", "abc", "x"], "does not wait for 'x'", id="nothing of that id"),
        pytest.param((), ["approve", "abc"], "nothing waits for an answer in run abc", id="nothing at all"),
        pytest.param((SEND, SENT), ["approve", "abc"], f"say which: {SEND.id} (step look), {SENT.id} (step look)", id="several"),
        pytest.param((WHERE,), ["approve", "abc"], "to question one can say answer", id="another kind of answer"),
        pytest.param((SENT,), ["answer", "abc", "--retry", "--skip"], "one answer at a time", id="two answers"),
        pytest.param((SENT,), ["answer", "abc", "x", "yes", "--retry"], "one answer at a time", id="two answers of two kinds"),
        pytest.param((WHERE,), ["answer", "abc"], "one answer at a time", id="no answer"),
        pytest.param((WHERE,), ["answer", "abc", "to", "the", "north"], "with quotes around a text", id="no quotes"),
    ],
)
def test_what_can_t_be_answered_is_misuse(waiting: tuple[Waiting, ...], arguments: list[str], told: str) -> None:
    """One sentence, exit code 2, and nothing is written down."""
    world = waits(*waiting)

    result = typed(*arguments, world=world)

    assert (2, "") == (result.exit_code, result.stdout)
    assert told in result.stderr
    assert {} == state(world).answers


def test_what_else_waits_is_said() -> None:
    """It is no use to go on before."""
    assert "1 more to be answered: dagwright pending abc" in typed("approve", "abc", SEND.id, world=waits(SEND, WHERE)).stdout


def test_a_run_that_is_worked_on_goes_on_by_itself() -> None:
    """Whoever works on it hears of the answer."""
    world = waits(SEND, held=("abc",))

    assert "somebody goes on with it" in typed("approve", "abc", world=world).stdout
    assert isinstance(anyio.run(world.kept.read, "abc")[-1].event, Answered)


def test_a_run_that_nobody_works_on_is_cancelled_at_once() -> None:
    """It has its end, with the reason."""
    world = waits(SEND)

    result = typed("cancel", "ab", "--why", "no need", world=world)

    assert (0, "run abc is cancelled; what was finished stays finished\n") == (result.exit_code, result.stdout)
    request, end = (recorded.event for recorded in anyio.run(world.kept.read, "abc")[-2:])
    assert ("no need", "cancelled") == (request.why, end.outcome)


def test_a_run_that_is_worked_on_is_cancelled_soon() -> None:
    """It is up to whoever works on it."""
    world = waits(SEND, held=("abc",))

    result = typed("cancel", "abc", world=world)

    assert (0, "run abc will end as soon as somebody hears of it\n") == (result.exit_code, result.stdout)
    assert state(world).cancelled
    assert state(world).ended is None


@pytest.mark.parametrize(
    ("outcome", "code"),
    [pytest.param("achieved", 1, id="achieved"), pytest.param("cancelled", 0, id="cancelled before")],
)
def test_a_run_that_has_ended_stays_as_it_is(outcome: str, code: int) -> None:
    """The exit code says whether it is cancelled."""
    world = remembers({"abc": (*PLANNING, RunEnded(outcome=outcome, summary=SUMMARY))})

    result = typed("cancel", "abc", world=world)

    assert (code, f"dagwright: run abc had ended already: {outcome}\n") == (result.exit_code, result.stderr)
    assert not state(world).cancelled


@pytest.mark.parametrize(
    ("typed_in", "heard", "later", "word"),
    [
        pytest.param(
            ["tell", "ab", "Leave out Oslo"], "reads it", "it is read", InterruptReceived(text="Leave out Oslo"), id="tell"
        ),
        pytest.param(["stop", "ab", "--why", "enough"], "stops it", "it stops", StopRequested(why="enough"), id="stop"),
    ],
)
class TestSpeaking:
    """What is said to a run that goes on, or will go on."""

    def test_whoever_works_on_it_hears_of_it(self, typed_in: list[str], heard: str, later: str, word: Word) -> None:
        """It is in the journal, and it is said who takes it up."""
        world = waits(SEND, held=("abc",))

        result = typed(*typed_in, world=world)

        assert (0, f"somebody {heard}\n") == (result.exit_code, result.stdout)
        assert word == anyio.run(world.kept.read, "abc")[-1].event

    def test_it_waits_for_whoever_goes_on(self, typed_in: list[str], heard: str, later: str, word: Word) -> None:
        """Where nobody does, the command is named."""
        world = waits(SEND)

        result = typed(*typed_in, world=world)

        assert (0, f"nobody works on run abc: {later} after dagwright resume abc\n") == (result.exit_code, result.stdout)
        assert word == anyio.run(world.kept.read, "abc")[-1].event

    def test_nothing_is_said_to_a_run_that_has_ended(self, typed_in: list[str], heard: str, later: str, word: Word) -> None:
        """It is as it is, and the exit code says that nobody heard."""
        world = remembers({"abc": (*PLANNING, RunEnded(outcome="achieved", summary=SUMMARY))})

        result = typed(*typed_in, world=world)

        assert (1, "dagwright: run abc had ended already: achieved\n") == (result.exit_code, result.stderr)
        assert word not in [recorded.event for recorded in anyio.run(world.kept.read, "abc")]


def test_to_say_nothing_is_misuse() -> None:
    """An empty message would be no message."""
    result = typed("tell", "abc", " ", world=waits(SEND))

    assert (2, "dagwright: there is nothing to tell: the message is empty\n") == (result.exit_code, result.stderr)
