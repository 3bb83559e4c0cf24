"""Steps of a plan that are the same: the first does the work, and the others take what came of it."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from planner.results import NO_USAGE, Results, Skipped, StepResult, Succeeded, is_untaken


def taken_over(end: StepResult, step_id: str) -> StepResult:
    """The end of a step as that of one that does the same: whatever it is, and at no cost, for nothing was done for it."""
    if isinstance(end, Skipped):
        return replace(end, step=step_id, because_of=step_id if end.because_of == end.step else end.because_of)
    return replace(end, step=step_id, usage=NO_USAGE, seconds=0.0, iterations=0)


def finished(ends: Results, fellows: Mapping[str, str]) -> Iterator[str]:
    """The steps that succeeded by work of their own. `fellows` names, by step, the one that does the same."""
    return (step_id for step_id, end in ends.items() if isinstance(end, Succeeded) and step_id not in fellows)


def unfinished(ends: Results) -> Iterator[str]:
    """The steps that did not succeed, but for those on branches that were not taken: that was decided."""
    return (step_id for step_id, end in ends.items() if not isinstance(end, Succeeded) and not is_untaken(end))
