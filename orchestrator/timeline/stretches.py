"""What each step was doing when, by the Facts of its run."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from msgspec import Struct

from orchestrator.events.facts import (
    Answered,
    ModelReplied,
    PlanReady,
    RunEnded,
    RunInterrupted,
    RunSuspended,
    StepEnded,
    StepPaused,
    StepStarted,
    Word,
)
from orchestrator.events.recorded import Event, Recorded
from planner import Plan
from planner.results import Failed, Skipped, StepResult, Succeeded

State = Literal["queued", "slot", "running", "person", "away"]
"""A step may start and does not yet, its request waits for a slot, it runs, waits for a person, or nobody works on the run."""

End = Literal["succeeded", "failed", "skipped", "open"]


class Stretch(NamedTuple):
    """From one moment to another, in seconds since the run began."""

    state: State
    begin: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.begin


@dataclass(slots=True)
class Course:
    """How one step went. `stretches` are in order, and have no gaps but between two attempts. `consists` says that it ran in its
    parts only."""

    task: str = ""
    end: End = "open"
    consists: bool = False
    stretches: list[Stretch] = field(default_factory=list)

    def spent(self, *states: State) -> float:
        """The seconds in any of these states."""
        return sum(stretch.seconds for stretch in self.stretches if stretch.state in states)


class Courses(Struct, frozen=True, kw_only=True):
    """`plans` are those of the rounds, with the moment when each was ready. `steps` are in the order in which they were heard of.
    `away` are the times when nobody worked on the run."""

    plans: tuple[tuple[float, Plan], ...]
    steps: dict[str, Course]
    away: tuple[Stretch, ...]
    wall: float


def courses(facts: Iterable[Recorded], *, now: float | None = None) -> Courses:
    """How the steps of a run went. `now` is the moment for those of a run that goes on, in seconds since the epoch; without one
    nobody works on it any more. A clock that was set back stands still meanwhile. A process that was killed has not said when:
    until another one goes on, its steps count as running, and so does a wait for a slot that was cut off."""
    told = _Told()
    for recorded in facts:
        told.take(recorded.event, recorded.time)
    return told.whole(now)


class _Told:
    """A fold over Facts."""

    def __init__(self) -> None:
        self._began: float | None = None
        self._at = 0.0
        self._left: float | None = None
        self._away: list[Stretch] = []
        self._plans: list[tuple[float, Plan]] = []
        self._steps: dict[str, Course] = {}
        self._doing: dict[str, tuple[State, float]] = {}
        self._slots: dict[str, list[Stretch]] = {}
        self._asked: dict[str, str] = {}

    def take(self, event: Event, time: float) -> None:
        self._began = time if self._began is None else self._began
        self._at = max(self._at, time - self._began)
        if self._left is not None and not isinstance(event, Word):
            self._come_back(self._left, _known_seconds(event))
        match event:
            case RunInterrupted() | RunSuspended() | RunEnded():
                self._left = self._at
            case PlanReady(plan=plan):
                self._plans.append((self._at, plan))
            case ModelReplied(step=step, seconds=seconds, reply=reply) if reply.waited > 0 and event.scope.startswith("step/"):
                sent = max(0.0, self._at - seconds)
                self._slots.setdefault(step, []).append(Stretch("slot", max(0.0, sent - reply.waited), sent))
            case _:
                self._take_step(event)

    def whole(self, now: float | None) -> Courses:
        """What there is, with all that is still going on drawn out to its end."""
        last = self._at if now is None or self._began is None else max(self._at, now - self._began)
        if self._left is not None and last > self._left:
            self._away.append(Stretch("away", self._left, last))
        for step in tuple(self._doing):
            self._turn(step, None, at=last)
        for step, course in self._steps.items():
            over = sorted((*self._slots.get(step, ()), *self._away), key=lambda each: each.begin)
            course.stretches = [part for stretch in course.stretches for part in _unfolded(stretch, over)]
        return Courses(plans=tuple(self._plans), steps=self._steps, away=tuple(self._away), wall=last)

    def _come_back(self, left: float, seconds: float) -> None:
        """Somebody works on the run again, since so many seconds at the least."""
        back = max(left, self._at - seconds)
        if back > left:
            self._away.append(Stretch("away", left, back))
        self._left = None

    def _take_step(self, event: Event) -> None:
        match event:
            case StepStarted(step=step, task=task, step_kind=kind):
                course = self._steps.setdefault(step, Course())
                course.task, course.consists, course.end = task, kind in ("map", "plan"), "open"
                self._turn(step, "running")
            case StepPaused(waiting=waiting):
                self._asked[waiting.id] = waiting.step
                self._turn(waiting.step, "person")
            case Answered(waiting=waiting):
                step = self._asked.pop(waiting, "")
                if step in self._doing and step not in self._asked.values():
                    self._turn(step, "running")
            case StepEnded(result=result):
                self._steps.setdefault(result.step, Course()).end = _end(result)
                self._turn(result.step, None)
            case _:
                pass

    def _turn(self, step: str, state: State | None, *, at: float | None = None) -> None:
        """What the step is doing from now on, None for nothing more."""
        now = self._at if at is None else at
        before = self._doing.pop(step, None)
        if before is not None and now > before[1]:
            self._steps[step].stretches.append(Stretch(before[0], before[1], now))
        if state is not None:
            self._steps.setdefault(step, Course())
            self._doing[step] = state, now


def covered(stretch: Stretch, over: Sequence[Stretch]) -> Iterator[Stretch]:
    """The stretch, and in place of parts of it what is laid over them; `over` is in order."""
    at = stretch.begin
    for each in over:
        begin, end = max(at, each.begin), min(stretch.end, each.end)
        if begin < end:
            if at < begin:
                yield Stretch(stretch.state, at, begin)
            yield Stretch(each.state, begin, end)
            at = end
    if at < stretch.end:
        yield Stretch(stretch.state, at, stretch.end)


def _unfolded(stretch: Stretch, over: Sequence[Stretch]) -> Iterator[Stretch]:
    """A step waits for a person whether or not anybody works on the run."""
    return covered(stretch, over) if stretch.state == "running" else iter((stretch,))


def _known_seconds(event: Event) -> float:
    """How long what this tells of had gone on by then."""
    match event:
        case ModelReplied(seconds=seconds, reply=reply):
            return seconds + reply.waited
        case StepEnded(result=Succeeded(seconds=seconds) | Failed(seconds=seconds)):
            return seconds
        case _:
            return 0.0


def _end(result: StepResult) -> End:
    return "skipped" if isinstance(result, Skipped) else "succeeded" if isinstance(result, Succeeded) else "failed"
