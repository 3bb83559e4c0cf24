"""The right step goes first: a slice of what benchmarks/scheduling.py tries, and whether it would be noticed if not."""

from benchmarks.scheduling import Case, measured, on_a_virtual_clock
from orchestrator.frontier import Frontier

CASES = [Case.of(seed) for seed in range(12)]


def test_what_most_waits_for_goes_first() -> None:
    """With few slots exact estimates save time against plan order and against waves; if they are somewhat off, nearly as much."""
    assert measured("exact", CASES, lambda case: case.by_rank(case.seconds)).is_good
    assert measured("blurred", CASES, lambda case: case.by_rank(case.blurred)).is_good


def test_the_executor_keeps_the_order() -> None:
    """Walked by the executor, with requests that wait at a governor, the plans end about as soon as in the simulation."""
    for case in CASES[:3]:
        assert case.by_rank(case.seconds) * 1.05 > on_a_virtual_clock(case)


def test_the_wrong_order_is_noticed() -> None:
    """Where those go first that nothing waits for, the limits are not met."""

    def backwards(case: Case) -> float:
        least = {name: -seconds for name, seconds in case.seconds.items()}
        return case.simulated(Frontier(case.plan(case.seconds), weights=least))

    assert not measured("backwards", CASES, backwards).is_good
