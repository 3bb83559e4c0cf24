"""Pure bookkeeping on the graph of a plan: which steps may start, in which order, and what a result changes."""

from collections.abc import Collection
from heapq import heappop, heappush

from planner import AnyStep, Plan
from planner.graph import graph, ranks
from planner.results import Failed, Results, Skipped, StepResult


class Frontier:
    """Where a walk stands.

    A step is ready when every dependency has settled in a way that lets it start. Ready steps leave in the order of their rank
    (longest remaining path first), then of the plan. Nothing here waits, runs or knows the time.
    """

    def __init__(self, plan: Plan, done: Results | None = None, *, begun: Collection[str] = ()) -> None:
        """`done` are results known from the start. `begun` are steps that ran when an earlier life of the walk ended: they start
        again, and like all that runs they are not stopped by what stops the plan."""
        self.results: dict[str, StepResult] = {}
        self._steps: dict[str, AnyStep] = {}
        self._started: set[str] = set()
        self._begun = frozenset(begun)
        self.extend(plan)
        for result in (done or {}).values():
            if result.step not in self.results:  # an earlier one may have skipped it
                self._started.add(result.step)
                self.settle(result)

    def extend(self, plan: Plan) -> tuple[Skipped, ...]:
        """Take in a plan whose steps begin with the present ones. Returns the new steps that can't run, in plan order."""
        present = list(self._steps)
        if [step.id for step in plan.steps[: len(present)]] != present:
            raise ValueError("a growing plan keeps its present steps, in order")
        self._steps = {step.id: step for step in plan.steps}
        self._order = {step_id: place for place, step_id in enumerate(self._steps)}
        self._graph = graph(plan.steps)
        self._ranks = ranks(self._graph)
        self._blockers = {step_id: self._open_dependencies(step_id) for step_id in self.unsettled}
        self._ready: list[tuple[float, int, str]] = []
        skipped = [each for result in list(self.results.values()) for each in self._consequences(result)]
        for step_id in self.unsettled:
            if not self._blockers[step_id] and step_id not in self._started:
                self._offer(step_id)
        return tuple(sorted(skipped, key=lambda each: self._order[each.step]))

    @property
    def ready(self) -> int:
        """How many steps may start now, at most: some of them may have been skipped meanwhile."""
        return len(self._ready)

    @property
    def running(self) -> tuple[str, ...]:
        """Steps that were taken and have not settled, in plan order."""
        return tuple(step_id for step_id in self._steps if step_id in self._started and step_id not in self.results)

    @property
    def unsettled(self) -> tuple[str, ...]:
        """Steps without a result, in plan order."""
        return tuple(step_id for step_id in self._steps if step_id not in self.results)

    def rank(self, step_id: str) -> float:
        """The longest remaining path that begins at the step."""
        return self._ranks[step_id]

    def take(self) -> AnyStep | None:
        """The next step to start, or None when none may start now."""
        while self._ready:
            _, _, step_id = heappop(self._ready)
            if step_id not in self.results and step_id not in self._started:
                self._started.add(step_id)
                return self._steps[step_id]
        return None

    def again(self, step_id: str) -> None:
        """A step that was taken and has not settled may start again: what it waited for is there."""
        self._started.discard(step_id)
        self._offer(step_id)

    def settle(self, result: StepResult) -> tuple[Skipped, ...]:
        """Take in how a step ended. Returns the steps that can't run any more because of it, in plan order."""
        self.results[result.step] = result
        skipped = self._consequences(result)
        self._unblock(result.step)
        return skipped

    def stop(self, because_of: str, reason: str) -> tuple[Skipped, ...]:
        """Nothing new starts; what runs may finish. Returns what is skipped so, in plan order."""
        return tuple(
            self._skip(step_id, because_of, reason)
            for step_id in self._steps
            if step_id not in self._started and step_id not in self._begun and step_id not in self.results
        )

    def in_plan_order(self) -> Results:
        """Every result so far, in plan order."""
        return {step_id: self.results[step_id] for step_id in self._steps if step_id in self.results}

    def _consequences(self, result: StepResult) -> tuple[Skipped, ...]:
        policy = self._steps[result.step].on_failure
        match result:
            case Failed() if policy == "stop":
                return self.stop(result.step, f"{result.step} failed and stops the plan")
            case Failed() if policy == "skip_dependents":
                return self._skip_descendants(result.step, f"{result.step} failed")
            case Skipped():
                return self._skip_descendants(result.step, f"{result.step} was skipped")
            case _:
                return ()

    def _open_dependencies(self, step_id: str) -> int:
        return sum(dependency not in self.results for dependency in self._graph.pred[step_id])

    def _offer(self, step_id: str) -> None:
        heappush(self._ready, (-self._ranks[step_id], self._order[step_id], step_id))

    def _unblock(self, step_id: str) -> None:
        for waiting in self._graph.succ[step_id]:
            if waiting in self.results:
                continue
            self._blockers[waiting] -= 1
            if not self._blockers[waiting] and waiting not in self._started:
                self._offer(waiting)

    def _skip_descendants(self, step_id: str, reason: str) -> tuple[Skipped, ...]:
        found: set[str] = set()
        frontier = [step_id]
        while frontier:
            for waiting in self._graph.succ[frontier.pop()]:
                if waiting not in found and waiting not in self.results and waiting not in self._started:
                    found.add(waiting)
                    frontier.append(waiting)
        return tuple(self._skip(found_id, step_id, reason) for found_id in sorted(found, key=self._order.__getitem__))

    def _skip(self, step_id: str, because_of: str, reason: str) -> Skipped:
        skipped = Skipped(step=step_id, because_of=because_of, reason=reason)
        self.results[step_id] = skipped
        return skipped
