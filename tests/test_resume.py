"""The journal cut after every Fact: the resumed run gives the same answer, and no finished call is made again."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import pytest

from orchestrator import MemoryJournal
from orchestrator.events.facts import InterruptReceived, ModelFailed, ModelReplied, StepEnded, ToolStarted
from orchestrator.events.recorded import Recorded
from tests.scenario import Life, World, ended, journal_of, undisturbed
from tests.scenarios.outside import Remembered
from tests.scenarios.plans import SCENARIOS, SURVEY, Scenario

pytestmark = pytest.mark.anyio


def paid(facts: Iterable[Recorded]) -> int:
    """How many model calls are not to be made again. One that failed is, unless its step has ended."""
    over = {each.event.scope for each in facts if isinstance(each.event, StepEnded)}
    failed = sum(isinstance(each.event, ModelFailed) and each.event.scope in over for each in facts)
    return failed + sum(isinstance(each.event, ModelReplied) for each in facts)


def under_way(facts: Iterable[Recorded]) -> set[str]:
    """The keys of the tool calls of which nobody knows whether they have happened."""
    return {each.event.key for each in facts if isinstance(each.event, ToolStarted)} - ended(facts)


def twice(facts: Sequence[Recorded]) -> set[str]:
    """The kinds of Facts of which there may be more in a run that was cut here. That somebody is waited for is said anew."""
    doubt = {"tool_started", "step_paused", "answered"} if under_way(facts) else set()
    return doubt | {"run_suspended"} | {facts[-1].event.kind} & {"model_failed"}


def worlds(whole: Life, facts: Iterable[Recorded]) -> Iterator[World]:
    """The worlds that a process may have left behind with these Facts: what was under way has happened, or has not."""
    times = Counter(each.key for each in whole.world.used)
    for happened in range(1 + max((times[key] for key in under_way(facts)), default=0)):
        left = {key: happened for key in under_way(facts)} | {key: times[key] for key in ended(facts)}
        kept = Remembered()
        for each in whole.world.used:
            if left.get(each.key, 0) > 0:
                left[each.key] -= 1
                kept.happen(each)
        yield World(whole.world.scenario, kept)


@pytest.mark.parametrize("scenario", [pytest.param(each, id=each.name) for each in SCENARIOS])
async def test_the_whole_run(scenario: Scenario) -> None:
    """It meets its goal, in as many Facts as the cuts below are made after, and all that it did is known to it."""
    whole = await Life.of(World(scenario), MemoryJournal())

    assert "achieved" == whole.answer.outcome
    assert scenario.facts == len(whole.facts)
    assert {each.key for each in whole.world.used} <= ended(whole.facts)


@pytest.mark.parametrize(
    ("scenario", "length"),
    [pytest.param(each, length, id=f"{each.name}-{length}") for each in SCENARIOS for length in range(1, each.facts + 1)],
)
async def test_cut_after_every_fact(scenario: Scenario, length: int) -> None:
    """Whatever was written is not done again, what was not is done once, and the answer is the same to the letter."""
    whole = await undisturbed(scenario)
    facts = whole.facts[:length]
    for world in worlds(whole, facts):
        before = len(world.used)
        resumed = await Life.of(world, await journal_of(whole.answer.run_id, facts), whole.answer.run_id)
        since = world.used[before:]

        assert whole.gist == resumed.gist
        assert resumed.told or (whole.keys, whole.origins) == (resumed.keys, resumed.origins)
        assert whole.asked >= resumed.asked
        assert paid(facts) == whole.asked.total() - resumed.asked.total()
        assert not ended(facts) & {each.key for each in since}
        assert whole.effects == resumed.effects
        assert set() == resumed.repeated
        assert whole.written <= resumed.written
        assert twice(facts) >= {kind for kind, *_ in resumed.written - whole.written}


@pytest.mark.parametrize("seq", [pytest.param(seq, id=f"after-{seq}") for seq in (8, 20, 30, 45, 60)])
async def test_what_the_user_said_outlives_the_process(seq: int) -> None:
    """Cut anywhere after a message came, all agents hear of it that would have, and what others did is not done again."""
    world, journal = World(SURVEY), MemoryJournal()
    async with world.orchestrator(journal).open(SURVEY.goal) as run:
        async for recorded in run.events:
            if recorded.seq == seq:
                await run.interrupt("mind the tide")
        whole = Life(world, await run.answer(), await journal.read(run.id))

    said = next(each.seq for each in whole.facts if isinstance(each.event, InterruptReceived))
    for length in range(said, len(whole.facts) + 1):
        facts = whole.facts[:length]
        *_, left = worlds(whole, facts)
        used = len(left.used)
        resumed = await Life.of(left, await journal_of(run.id, facts), run.id)

        assert "achieved" == resumed.answer.outcome
        assert heard(whole) == heard(resumed)
        assert whole.effects == resumed.effects
        assert set() == resumed.repeated | ended(facts) & {each.key for each in left.used[used:]}


def heard(life: Life) -> set[str]:
    return {name for name, end in life.answer.steps.items() if "mind the tide" in getattr(end, "output", "")}
