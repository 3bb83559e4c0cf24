"""What became of a run whose processes were killed: whether anything was lost, or done again."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.events.facts import ModelFailed, ModelReplied, StepEnded, StepPaused, ToolEnded, ToolStarted
from orchestrator.events.recorded import Recorded
from tests.kills.blows import noted
from tests.kills.lives import Site
from tests.scenarios.outside import MODEL, Execution


@dataclass(frozen=True)
class Verdict:
    """What was lost and what repeated, each in a sentence, and how many calls were in doubt."""

    lost: tuple[str, ...]
    repeated: tuple[str, ...]
    in_doubt: int


def judged(site: Site, lives: int, whole: Site) -> Verdict:
    """The run at a site after so many lives, beside one that nothing disturbed."""
    facts, executions = site.known(), list(site.outside)
    found = [site.found(life) for life in range(1, lives + 1)]
    all_finished = outcomes(facts)
    finished = [outcomes(facts[:count]) for count in found]
    asked = [each.event.waiting for each in facts if isinstance(each.event, StepPaused)]
    doubts = Counter(waiting.key for waiting in asked if waiting.kind == "in_doubt")
    return Verdict(
        lost=(
            *_unread(site, facts),
            *(f"the outcome of {each.tool} {each.about}" for each in executions if each.key not in all_finished),
            *(f"that {key} was in doubt" for count in found for key in unsettled(facts[:count]) if key not in doubts),
            *(f"the effect of {key}" for key in effects(whole.outside) - effects(site.outside)),
            *([] if whole.answer == site.answer else [f"the answer, which is {site.answer}"]),
        ),
        repeated=(
            *(f"{each.tool} {each.about}" for each in executions if each.key in finished[each.life - 1]),
            *(f"the effect of {key}, {often} times" for key, often in times(executions).items() if often > 1),
            *(f"an effect as {key}" for key in effects(site.outside) - effects(whole.outside)),
        ),
        in_doubt=doubts.total(),
    )


def _unread(site: Site, facts: Sequence[Recorded]) -> Iterator[str]:
    """What was acknowledged, and is not what the journal holds now."""
    held = {noted(each) for each in facts}
    yield from (f"Fact {line}" for line in site.notes() if line not in held)


def outcomes(facts: Sequence[Recorded]) -> set[str]:
    """The calls of tools and models that are finished, by the keys that their executions have.

    That a model failed is no outcome, unless its step has ended with it.
    """
    over = {(each.event.scope, each.event.attempt) for each in facts if isinstance(each.event, StepEnded)}
    found = set()
    for each in facts:
        match each.event:
            case ToolEnded(key=key):
                found.add(key)
            case ModelReplied() | ModelFailed():
                attempt = int(each.event.key.partition("@")[2] or 1)
                if isinstance(each.event, ModelReplied) or (each.event.scope, attempt) in over:
                    found.add(f"{each.event.scope} {each.event.purpose} {each.event.iteration} @{attempt}")
    return found


def unsettled(facts: Sequence[Recorded]) -> set[str]:
    """The keys of unkeyed calls that were begun, and nothing is known of what came of them."""
    events = [each.event for each in facts]
    return {event.key for event in events if isinstance(event, ToolStarted) and event.effect == "unkeyed"} - outcomes(facts)


def effects(outside: Iterable[Execution]) -> set[str]:
    return {each.key for each in outside if each.tool != MODEL}


def times(executions: Iterable[Execution]) -> Counter[str]:
    """How often each effect happened that must not happen twice."""
    return Counter(each.key for each in executions if each.effect in ("transactional", "unkeyed"))
