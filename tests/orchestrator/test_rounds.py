"""Which plan follows which."""

import pytest

from orchestrator.events.facts import Fact, InterruptReceived, PhaseBegan, PlanReady, PlanRejected, StopRequested, VerdictReached
from orchestrator.rounds import another
from orchestrator.state import folded
from planner import Plan, Step
from planner.results import Achieved, Missing, Verdict

PLAN = Plan(goal="g", steps=[Step(id="a", task="x")])
MET: Verdict = Achieved(reasoning="yes")
LACKS: Verdict = Missing(reasoning="no", missing=("b",), confidence=0.9)
UNREADABLE: Verdict = Missing(reasoning="?", missing=("b",), confidence=0.0)
SAID = InterruptReceived(text="in euros")


def plan(round_: int, heard: int = 0) -> PlanReady:
    return PlanReady(plan=PLAN, round=round_, heard=heard)


def verdict(reached: Verdict, round_: int = 1, heard: int = 0) -> VerdictReached:
    return VerdictReached(verdict=reached, round=round_, heard=heard)


@pytest.mark.parametrize(
    ("facts", "gained", "expected"),
    [
        pytest.param([plan(1), verdict(MET)], True, False, id="met"),
        pytest.param([plan(1), verdict(LACKS)], True, True, id="something lacks"),
        pytest.param([plan(1), verdict(LACKS)], False, False, id="it gained nothing"),
        pytest.param([plan(1), verdict(UNREADABLE)], True, False, id="nobody knows what lacks"),
        pytest.param([plan(1), verdict(LACKS), plan(2), verdict(LACKS, 2)], True, False, id="the rounds are used up"),
        pytest.param([plan(1), StopRequested(), verdict(LACKS)], True, False, id="stopped"),
        pytest.param([plan(1), SAID, verdict(MET, heard=1)], True, False, id="met with what was said"),
        pytest.param([plan(1), SAID, verdict(UNREADABLE, heard=1)], False, True, id="said, and not known to be met"),
        pytest.param([plan(1), verdict(MET), SAID], True, True, id="said after the judge was asked"),
        pytest.param([plan(1), verdict(MET), PhaseBegan(phase="synthesis"), SAID], True, False, id="said to the one who answers"),
        pytest.param([plan(1), SAID, StopRequested(), verdict(LACKS, heard=1)], True, False, id="said, and stopped"),
        pytest.param([plan(1), SAID, plan(2, heard=1), verdict(LACKS, 2, heard=1)], True, True, id="what was said uses no round"),
        pytest.param(
            [plan(1), SAID, plan(2, heard=1), plan(3, heard=1), verdict(LACKS, 3, heard=1)],
            True,
            False,
            id="planned for once",
        ),
    ],
)
def test_whether_another_plan_follows(facts: list[Fact], gained: bool, expected: bool) -> None:
    """Of two rounds at most, and what the user said comes on top."""
    state = folded([*facts])
    while len(state.verdicts) < len(state.rounds):  # those of earlier rounds don't matter
        state.verdicts.insert(0, verdict(LACKS))

    assert expected is another(state, state.verdicts[-1].verdict, len(state.rounds), most=2, gained=gained)


@pytest.mark.parametrize("known", [plan(2), PlanRejected(round=2)])
def test_what_followed_in_an_earlier_life_follows_again(known: Fact) -> None:
    """Whatever was said or wished since."""
    assert another(folded([plan(1), verdict(LACKS), known, StopRequested()]), LACKS, 1, most=1, gained=True)
