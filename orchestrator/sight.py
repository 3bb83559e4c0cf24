"""What a step may see of its run."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from planner import Plan
from planner.errors import Undecided
from planner.references import NOTHING, Own, Reference, Resolved, look_up, rendered, resolve
from planner.results import Results, StepResult
from registry.calls import NO_CALL, Call
from registry.messages import Json
from registry.origins import Origins, joined


class Sight(Struct, frozen=True, kw_only=True):
    """The plan that a step belongs to, its inputs, the results so far by the ids of that plan, what its own place gives it, and
    its calls' place in the run."""

    plan: Plan
    inputs: Mapping[str, Json]
    results: Results
    own: Own = NOTHING
    call: Call = NO_CALL

    def at(self, call: Call) -> "Sight":
        """The same sight, for calls at another place in the run."""
        return Sight(plan=self.plan, inputs=self.inputs, results=self.results, own=self.own, call=call)

    def resolved(self, value: Json) -> Resolved:
        """The value with its references followed. Raises `BrokenReference`."""
        return resolve(value, inputs=self.inputs, results=self.results, own=self.own)

    def worded(self, text: str) -> Resolved:
        """The text with its references followed: still a text, whatever one alone leads to. Raises `BrokenReference`."""
        found = self.resolved(text)
        return Resolved(rendered(found.value), found.origins)

    def look(self, reference: Reference) -> Resolved:
        """What the reference leads to. Raises `BrokenReference`, also where its step has no result to read."""
        return look_up(reference, inputs=self.inputs, results=self.results, own=self.own)

    def holds(self, condition: str) -> bool:
        """Whether the condition holds. Raises `BrokenReference` and `Undecided`."""
        from planner.conditions import holds

        read: list[Origins] = []

        def look(reference: Reference) -> Json:
            found = self.look(reference)
            read.append(found.origins)
            return found.value

        try:
            return holds(condition, look)
        except Undecided as undecided:
            undecided.origins = joined(*read)
            raise


class Inside(Mapping[str, StepResult]):
    """The results of a plan inside a plan, by its own ids."""

    __slots__ = ("_all", "_ids", "_prefix")

    def __init__(self, results: Results, prefix: str, ids: tuple[str, ...]) -> None:
        self._all: Results = results._all if isinstance(results, Inside) else results
        self._prefix, self._ids = prefix, ids

    def __getitem__(self, step_id: str) -> StepResult:
        return self._all[self._prefix + step_id]

    def __iter__(self) -> Iterator[str]:
        return (step_id for step_id in self._ids if self._prefix + step_id in self._all)

    def __len__(self) -> int:
        return sum(1 for _ in self)
