"""The journal cut after every Fact: the resumed run gives the same answer, and no finished call is made again."""

import pytest

from orchestrator import MemoryJournal
from orchestrator.events.recorded import Recorded, decode, encode
from orchestrator.run import Answer
from tests.scenario import GOAL, World

pytestmark = pytest.mark.anyio

FACTS = 41
FAILED = 23
"""The Fact of a failed model call. It is no result: cut right behind it, the call is tried again."""


async def lived(world: World) -> tuple[Answer, tuple[Recorded, ...]]:
    journal = MemoryJournal()
    answer = await world.orchestrator(journal).run(GOAL)
    return answer, await journal.read(answer.run_id)


async def cut(facts: tuple[Recorded, ...], length: int) -> MemoryJournal:
    """A journal that holds the first Facts only, each written and read again."""
    journal = MemoryJournal()
    writer = await journal.claim(facts[0].run, holder="earlier", ttl=60)
    for recorded in facts[:length]:
        await writer.append(decode(encode(recorded)).event, recorded.time)
    return journal


@pytest.mark.parametrize("length", range(1, FACTS + 1))
async def test_cut_after_every_fact(length: int) -> None:
    """Whatever was written before the cut is not done again, and the answer is the same to the letter."""
    whole_world = World()
    answer, facts = await lived(whole_world)
    assert FACTS == len(facts)

    journal = await cut(facts, length)
    world = World()
    resumed = await world.orchestrator(journal).resume(answer.run_id)

    assert answer.output == resumed.output
    assert answer.outcome == resumed.outcome
    assert answer.plan == resumed.plan
    assert list(answer.steps) == list(resumed.steps)
    kinds = [recorded.event.kind for recorded in facts[:length]]
    paid = kinds.count("model_replied") + ("model_failed" in kinds and length > FAILED)
    assert len(whole_world.asked) - paid == len(world.asked)
    assert 4 - kinds.count("tool_ended") == len(world.measured) + len(world.logged)
    assert answer.usage == resumed.usage


@pytest.mark.parametrize("length", range(1, FACTS + 1))
async def test_the_journal_ends_the_same(length: int) -> None:
    """After a resumed run the journal holds each Fact once, whatever the cut."""
    answer, facts = await lived(World())
    journal = await cut(facts, length)
    await World().orchestrator(journal).resume(answer.run_id)

    def keys(recorded: tuple[Recorded, ...]) -> list[str]:
        return sorted(f"{each.event.kind} {getattr(each.event, 'key', '')}" for each in recorded)

    failure = next(f"model_failed {each.event.key}" for each in facts if each.event.kind == "model_failed")

    again = [failure] if length == FAILED else []
    assert sorted([*keys(facts), *again]) == keys(await journal.read(answer.run_id))
