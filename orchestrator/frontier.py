"""Pure bookkeeping on the graph of a plan: which steps may start, in which order, and what a result changes."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

from msgspec import Struct
from msgspec.structs import replace

from orchestrator.widths import Widths
from planner import AnyStep, Plan
from planner.graph import EVEN, ranks
from planner.references import forgiven
from planner.results import Failed, Results, Skipped, StepResult, Succeeded, is_untaken

NO_FELLOWS: Mapping[str, str] = {}

Place = tuple[int, ...]
"""Where a step stands: in its plan, and before that where the step stands that it is a part of."""


class Part(Struct, frozen=True):
    """A step that another one consists of. Its id is like no other; so are those that it `needs`, and those that it `forgives`
    whatever end they come to."""

    step: AnyStep
    needs: tuple[str, ...] = ()
    forgives: frozenset[str] = frozenset()

    def after(self, fellow: str) -> "Part":
        """The part with its turn after that of a step which does the same, if there is one, however that one ends."""
        return self if not fellow else replace(self, needs=(*self.needs, fellow), forgives=self.forgives | {fellow})


class Frontier:
    """Where a walk stands.

    A step is ready when every dependency has settled in a way that lets it start. Ready steps leave in the order of their rank
    (longest remaining path first), then of the plan. A step that was taken may turn out to consist of others (`expand`): it is
    taken once more when all of these have settled. Nothing here waits, runs or knows the time.
    """

    def __init__(
        self,
        plan: Plan,
        done: Results | None = None,
        *,
        begun: Collection[str] = (),
        fellows: Mapping[str, str] = NO_FELLOWS,
        weights: Mapping[str, float] = EVEN,
    ) -> None:
        """`done` are results known from the start. `begun` are steps that ran when an earlier life of the walk ended: they start
        again, and like all that runs they are not stopped by what stops the plan. `fellows` and `weights` as in `extend`."""
        self.results: dict[str, StepResult] = {}
        self._parts: dict[str, Part] = {}
        self._top: tuple[str, ...] = ()
        self._whole: dict[str, str] = {}
        self._consists: dict[str, tuple[str, ...]] = {}
        self._left: dict[str, int] = {}
        self._waiting: defaultdict[str, list[str]] = defaultdict(list)
        self._blockers: dict[str, int] = {}
        self._places: dict[str, Place] = {}
        self._ranks: dict[str, float] = {}
        self._weights: dict[str, float] = {}
        self._widths = Widths()
        self._started: set[str] = set()
        self._begun = set(begun)
        self._ready: list[tuple[float, Place, str]] = []
        self.extend(plan, fellows, weights=weights)
        self._know((done or {}).values())

    def extend(
        self, plan: Plan, fellows: Mapping[str, str] = NO_FELLOWS, *, weights: Mapping[str, float] = EVEN
    ) -> tuple[Skipped, ...]:
        """Take in a plan whose steps begin with the present ones. Returns the new steps that can't run, in plan order.

        `fellows` names, by step, the earlier one that does the same: the step has its turn after that one.
        `weights` says how long each will probably take; one that it does not name counts one.
        """
        present = len(self._top)
        if [step.id for step in plan.steps[:present]] != list(self._top):
            raise ValueError("a growing plan keeps its present steps, in order")
        self._weights.update(weights)
        needs = {step.id: step.depends_on for step in plan.steps}
        self._ranks.update(ranks(needs, self._weights))
        self._top = tuple(needs)
        self._ready = [(-self._ranks[step_id], place, step_id) for _, place, step_id in self._ready]
        heapify(self._ready)
        parts = [Part(step, tuple(step.depends_on), forgiven(step.when)) for step in plan.steps[present:]]
        return self._admit([part.after(fellows.get(part.step.id, "")) for part in parts] if fellows else parts, (), present)

    def expand(
        self,
        step_id: str,
        parts: Sequence[Part],
        *,
        width: int | None = None,
        done: Iterable[StepResult] = (),
        begun: Collection[str] = (),
        weights: Mapping[str, float] = EVEN,
    ) -> tuple[Skipped, ...]:
        """The step that was taken consists of these, of which at most `width` are under way at once. Returns what can't run.

        `done`, `begun` and `weights` as for a whole plan: what waits for the step waits for each of its parts.
        """
        self._weights.update(weights)
        behind = self._ranks[step_id] - self._weights.get(step_id, 1.0)
        deepest = ranks({part.step.id: part.needs for part in parts}, self._weights)
        self._ranks.update({part: behind + rank for part, rank in deepest.items()})
        names = tuple(part.step.id for part in parts)
        self._consists[step_id], self._left[step_id] = names, len(names)
        self._whole.update(dict.fromkeys(names, step_id))
        if width is not None:
            self._widths.limit(names, width)
        self._begun.update(begun)
        skipped = self._admit(parts, self._places[step_id]) + self._know(done)
        if not names:
            self.again(step_id)
        return skipped

    @property
    def ready(self) -> int:
        """How many steps may start now, at most: some of them may have been skipped meanwhile."""
        return len(self._ready)

    @property
    def running(self) -> tuple[str, ...]:
        """Steps that were taken and have not settled, in plan order."""
        return tuple(step_id for step_id in self.unsettled if step_id in self._started)

    @property
    def unsettled(self) -> tuple[str, ...]:
        """Steps without a result, in plan order, each before those that it consists of."""
        return self._in_order(step_id for step_id in self._parts if step_id not in self.results)

    def rank(self, step_id: str) -> float:
        """The longest remaining path that begins at the step."""
        return self._ranks[step_id]

    def parts(self, step_id: str) -> tuple[StepResult, ...]:
        """How the steps ended that this one consists of, in order."""
        return tuple(self.results[name] for name in self._consists[step_id])

    def around(self, step_id: str) -> Iterator[str]:
        """The step that this one is a part of, the step that that one is a part of, and so on."""
        while (whole := self._whole.get(step_id)) is not None:
            yield whole
            step_id = whole

    def take(self) -> AnyStep | None:
        """The next step to start, or None when none may start now."""
        while self._ready:
            _, _, step_id = heappop(self._ready)
            if step_id not in self.results and step_id not in self._started:
                self._started.add(step_id)
                return self._parts[step_id].step
        return None

    def pause(self, step_id: str) -> None:
        """A step that was taken waits for somebody: where there is a width, another may start in its place."""
        for each in (step_id, *self.around(step_id)):
            self._make_room(each)

    def again(self, step_id: str) -> None:
        """A step that was taken and has not settled may start again: what it waited for is there."""
        self._started.discard(step_id)
        self._offer(step_id)

    def settle(self, result: StepResult) -> tuple[Skipped, ...]:
        """Take in how a step ended. Returns the steps that can't run any more because of it, in plan order."""
        self._end(result)
        skipped: list[Skipped] = []
        policy = self._parts[result.step].step.policy if isinstance(result, Failed) else None
        if policy in ("stop", "replan"):
            why = "stops the plan" if policy == "stop" else "asks for another plan"
            within = self._whole.get(result.step)
            skipped += self.stop(result.step, f"{result.step} failed and {why}", within=within)
        return self._followed(skipped, result)

    def stop(self, because_of: str, reason: str, *, within: str | None = None) -> tuple[Skipped, ...]:
        """Nothing new starts, or nothing that is a part of `within`; what runs may finish. Returns what is skipped so."""
        left = (
            step_id
            for step_id in self.unsettled
            if step_id not in self._started and step_id not in self._begun and (within is None or within in self.around(step_id))
        )
        return tuple(self._skip(step_id, because_of, reason) for step_id in left)

    def in_plan_order(self) -> Results:
        """Every result of the plan's own steps so far, in plan order."""
        return {step_id: self.results[step_id] for step_id in self._top if step_id in self.results}

    def _admit(self, parts: Sequence[Part], around: Place, first: int = 0) -> tuple[Skipped, ...]:
        for number, part in enumerate(parts, first):
            name = part.step.id
            self._parts[name], self._places[name], self._blockers[name] = part, (*around, number), len(part.needs)
            for need in part.needs:
                self._waiting[need].append(name)
        for part in parts:
            if not part.needs:
                self._offer(part.step.id)
        if not self.results:
            return ()
        settled = dict(self.results)
        ends = [(settled[need], part.step.id) for part in parts for need in part.needs if need in settled]
        skipped = [skip for end, name in ends if (skip := self._passed(end, name)) is not None]
        return self._followed(skipped)

    def _know(self, done: Iterable[StepResult]) -> tuple[Skipped, ...]:
        skipped: list[Skipped] = []
        for result in done:
            if result.step not in self.results:  # an earlier one may have skipped it
                self._started.add(result.step)
                skipped.extend(self.settle(result))
        return tuple(skipped)

    def _followed(self, skipped: Iterable[Skipped], *ended: StepResult) -> tuple[Skipped, ...]:
        """These, and what is skipped because of them or of what has ended, however far, in plan order."""
        found = {skip.step: skip for skip in skipped}
        ahead: list[StepResult] = [*ended, *found.values()]
        for end in ahead:  # of which there become more on the way
            for name in self._waiting.get(end.step, ()):
                skip = self._passed(end, name)
                if skip is not None:
                    found[name] = skip
                    ahead.append(skip)
        return tuple(found[name] for name in self._in_order(found)) if found else ()

    def _passed(self, end: StepResult, name: str) -> Skipped | None:
        """What the end of a dependency does to a step that waits for it: it may start, goes on waiting, or is skipped."""
        if name in self.results or name in self._started:
            return None
        part = self._parts[name]
        if end.step not in part.forgives and not self._lets_pass(end):
            cause = end.because_of if isinstance(end, Skipped) else end.step
            return self._skip(name, cause, end.reason if isinstance(end, Skipped) else f"{end.step} failed")
        self._blockers[name] -= 1
        if self._blockers[name]:
            return None
        if is_untaken(end) and not part.forgives and all(is_untaken(self.results[each]) for each in part.needs):
            return self._skip(name, end.because_of, end.reason, untaken=True)
        self._offer(name)
        return None

    def _lets_pass(self, end: StepResult) -> bool:
        match end:
            case Succeeded():
                return True
            case Failed():
                return self._parts[end.step].step.policy == "continue"
            case Skipped():
                left_out = end.because_of == end.step and self._parts[end.step].step.policy == "continue"
                return end.untaken or left_out

    def _skip(self, step_id: str, because_of: str, reason: str, *, untaken: bool = False) -> Skipped:
        skipped = Skipped(step=step_id, because_of=because_of, reason=reason, untaken=untaken)
        self._end(skipped)
        return skipped

    def _end(self, result: StepResult) -> None:
        self.results[result.step] = result
        self._started.discard(result.step)
        self._make_room(result.step)
        whole = self._whole.get(result.step)
        if whole is not None:
            self._left[whole] -= 1
            if not self._left[whole]:
                self.again(whole)

    def _offer(self, step_id: str) -> None:
        if self._widths.enter(step_id):
            heappush(self._ready, (-self._ranks[step_id], self._places[step_id], step_id))

    def _make_room(self, step_id: str) -> None:
        following = self._widths.leave(step_id)
        if following is not None:
            self._offer(following)

    def _in_order(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(names, key=self._places.__getitem__))
