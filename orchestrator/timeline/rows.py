"""The timeline of a run: a row for each step, what it did when, and how much later it could have done it."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from orchestrator.events.recorded import Recorded
from orchestrator.timeline.paths import Node, nodes, paths
from orchestrator.timeline.stretches import Course, Courses, End, Stretch, courses, covered

INSTANT = 0.001
"""Seconds. Whoever starts within them did not queue."""


class Row(Struct, frozen=True, kw_only=True):
    """One step. `depth` counts the steps around it, `took` is the seconds that it ran. `slack` is how many more it could have
    taken without the whole taking longer, by what waited for what; None where it never ran."""

    step: str
    task: str = ""
    depth: int = 0
    end: End = "open"
    stretches: tuple[Stretch, ...] = ()
    took: float = 0.0
    slack: float | None = None
    critical: bool = False

    @property
    def figures(self) -> str:
        """What it took, and how it stands unless it succeeded."""
        took = f"{self.took:.1f} s" if self.stretches else ""
        said = {"succeeded": "", "open": "so far" if self.stretches else "not begun"}.get(self.end, self.end)
        return " ".join(each for each in (took, said) if each)


class Timeline(Struct, frozen=True, kw_only=True):
    """`wall` is the seconds from the first Fact to the last, or to now, and `away` those when nobody worked on the run.

    `step_seconds` is what its steps took together, without waiting. `path` is the chain of steps that took longest, with the time
    that people took to answer, and `path_seconds` what it took: with slots for everything it would have gone no faster.
    """

    rows: tuple[Row, ...]
    wall: float
    away: float
    step_seconds: float
    path: tuple[str, ...]
    path_seconds: float

    @property
    def parallelism(self) -> float:
        """How many steps ran at once, on the average of the time when somebody worked on the run."""
        worked = self.wall - self.away
        return self.step_seconds / worked if worked > 0 else 0.0


def timeline(facts: Sequence[Recorded], *, now: float | None = None) -> Timeline:
    """The timeline of the run whose Facts these are; `now` in seconds since the epoch if somebody works on it."""
    told = courses(facts, now=now)
    steps = nodes((plan for _, plan in told.plans), told.steps)
    leaves = {name: course for name, course in told.steps.items() if not course.consists}
    found = paths(steps, {name: course.spent("running", "person") for name, course in leaves.items()})
    path = tuple(name for name in found.longest if name in leaves and leaves[name].stretches)
    critical = {*path, *(around for name in path for around in _around(name, steps))}
    return Timeline(
        rows=tuple(_row(name, node, told, found.slack[name], name in critical) for name, node in steps.items()),
        wall=told.wall,
        away=sum(stretch.seconds for stretch in told.away),
        step_seconds=sum(course.spent("running") for course in leaves.values()),
        path=path,
        path_seconds=found.seconds,
    )


def _around(name: str, steps: Mapping[str, Node]) -> Iterator[str]:
    while name := steps[name].inside:
        yield name


def _row(name: str, node: Node, told: Courses, slack: float, critical: bool) -> Row:
    course = told.steps.get(name, Course())
    queued = () if course.consists or not course.stretches else _queued(course.stretches[0].begin, node, told)
    return Row(
        step=name,
        task=course.task,
        depth=node.depth,
        end=course.end,
        stretches=(*queued, *course.stretches),
        took=course.spent("running"),
        slack=slack if course.stretches else None,
        critical=critical,
    )


def _queued(began: float, node: Node, told: Courses) -> tuple[Stretch, ...]:
    """The time from when the step had all that it needs to when it began, as far as somebody worked on the run."""
    ends = (told.steps[need].stretches[-1].end for need in node.needs if need in told.steps and told.steps[need].stretches)
    ready = max((moment for moment in (*ends, *(at for at, _ in told.plans)) if moment <= began), default=began)
    if began - ready < INSTANT:
        return ()
    return tuple(covered(Stretch("queued", ready, began), told.away))
