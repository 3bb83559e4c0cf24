"""What a revised plan changed, for people."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from orchestrator.cli.view.text import counted, listed
from orchestrator.events.project import ChannelMessage
from planner.diff import changed_fields
from registry.messages import Json

SHOWN = 8
"""Steps that were added, or changed, and are shown one by one."""

Steps = Mapping[str, Mapping[str, Json]]


class Revisions:
    """Follows the plans of a run: what changed in a step is seen by the plan before."""

    def __init__(self) -> None:
        self._before: Steps = {}

    def lines(self, payload: Mapping[str, Json]) -> Iterator[str]:
        """What the plan changed in the one before: a line for each step that is new or changed, and one for the others of a kind.

        Nothing for the first plan of a run.
        """
        before, now = self._before, {step["id"]: step for step in payload["plan"]["steps"]}
        self._before, diff = now, payload["diff"]
        name = f"plan {payload['round']}"
        yield from _each(f"{name}: added", diff.get("added", ()), lambda step_id: _added(now[step_id]))
        yield from _each(f"{name}: changed", diff.get("changed", ()), lambda step_id: _changed(step_id, before, now))
        for change in ("removed", "kept"):
            if diff.get(change):
                yield f"{name}: {change} {listed(list(diff[change]))}"


def revision_lines(messages: Iterable[ChannelMessage]) -> Iterator[str]:
    """What the revisions changed that are among these messages of a run."""
    revisions = Revisions()
    for message in messages:
        if message.channel == "plan":
            yield from revisions.lines(message.payload)


def about(step: Mapping[str, Json]) -> str:
    """What the step is for: its task, its question, or the tool that it calls."""
    return str(step["task"] or step.get("question") or step.get("tool") or step["kind"])


def with_needs(step: Mapping[str, Json]) -> str:
    """The step's id, and what it comes after."""
    return f"{step['id']} (after {listed(step['depends_on'])})" if step["depends_on"] else str(step["id"])


def _each(said: str, ids: Sequence[str], told: Callable[[str], str]) -> Iterator[str]:
    yield from (f"{said} {told(step_id)}" for step_id in ids[:SHOWN])
    if len(ids) > SHOWN:
        yield f"{said} {counted(len(ids) - SHOWN, 'more step')}"


def _added(step: Mapping[str, Json]) -> str:
    return f"{with_needs(step)}: {about(step)}"


def _changed(step_id: str, before: Steps, now: Steps) -> str:
    """The fields that are others now, where the plan before is known."""
    fields = changed_fields(before[step_id], now[step_id]) if step_id in before else ()
    return step_id + (f": another {listed(list(fields))}" if fields else "")
