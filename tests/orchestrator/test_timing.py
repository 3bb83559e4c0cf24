"""How long the steps of a walk will probably take."""

from orchestrator.timing import Timing
from orchestrator.trying import Try
from planner import Step
from planner.past import Took
from planner.plan import ToolStep

AGENT, TOOL = Step(id="a", task="a"), ToolStep(id="t", tool="search")
TOOK = Took(low=1.0, likely=2.0, high=3.0, times=4)


def timing(**past: Took) -> Timing:
    return Timing(past, lambda step: "small" if isinstance(step, Step) else "")


def test_weights() -> None:
    """By the step's own past, else by that of its like, else by default."""
    tries = {"a": Try.of("d1", 1), "t": Try.of("d2", 1)}

    assert {"a": 12.0, "t": 1.0} == timing().weights([AGENT, TOOL], tries)
    assert {"a": 2.0, "t": 1.0} == timing(**{"step/d1": TOOK}).weights([AGENT, TOOL], tries)
    assert {"a": 12.0, "t": 2.0} == timing(**{"tool/search": TOOK, "agent/large": TOOK}).weights([AGENT, TOOL], tries)


def test_only_a_step_that_ran_in_one_go_is_timed() -> None:
    """One that was never begun here, or that waited for a person, is like nothing; and each end is told once."""
    timed = timing()
    timed.begin(AGENT, "small")
    timed.begin(TOOL, "")
    timed.spoil("t")

    assert ("agent/small", "", "") == (timed.like("a"), timed.like("t"), timed.like("b"))
    assert "" == timed.like("a")
