"""How often a tool may ask its model for another try."""

from collections.abc import Iterable

from msgspec.structs import replace

from orchestrator.events.facts import StepRetried, StepStarted, ToolEnded
from orchestrator.events.recorded import Event
from registry.calls import Call
from registry.errors import ToolFailed, TryAgain
from registry.tools.registry import ToolRegistry
from registry.tools.tool import Observation

TRIES = 2
"""How often in a row a tool may ask so that has no retries of its own."""


def bounded(tools: ToolRegistry, seen: Observation, call: Call, facts: Iterable[Event]) -> Observation:
    """What was seen; but where the tool has asked for another try too often in a row, its call has failed for good."""
    if seen.error != TryAgain.__name__:
        return seen
    most, asked = tools.get(seen.name).traits.retries or TRIES, _asked(seen.name, call, facts)
    if asked < most:
        return seen
    failed = ToolFailed(seen.name, f"it was tried {asked + 1} times, and still said {seen.text!r}; go on without it")
    return replace(seen, error=ToolFailed.__name__, text=str(failed))


def _asked(tool: str, call: Call, facts: Iterable[Event]) -> int:
    """In how many iterations of the scope's attempt the tool has asked, since it last succeeded. Calls of one reply are one."""
    iterations: set[int] = set()
    for fact in facts:
        match fact:
            case StepStarted(scope=scope) | StepRetried(scope=scope) if scope == call.scope:
                iterations.clear()
            case ToolEnded() if fact.scope == call.scope and fact.observation.name == tool:
                if fact.observation.error is None:
                    iterations.clear()
                elif fact.observation.error == TryAgain.__name__:
                    iterations.add(fact.iteration)
            case _:
                pass
    return len(iterations - {call.iteration})
