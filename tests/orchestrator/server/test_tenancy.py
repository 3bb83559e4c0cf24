"""Where a tenant's runs stand, and what they are told of them."""

import pytest

from orchestrator import MemoryJournal
from orchestrator.errors import JournalDamaged
from orchestrator.events.facts import Answered, Fact, RunEnded, RunInterrupted, RunStarted, RunSuspended, StepPaused
from orchestrator.events.recorded import Recorded
from orchestrator.server.service import Service
from orchestrator.server.tenancy import SCANNED, TenantRuns
from orchestrator.waiting import Waiting
from tests.orchestrator.events.samples import SUMMARY
from tests.orchestrator.server.driving import service_of

pytestmark = pytest.mark.anyio

BEGAN = RunStarted(goal="g", plan=None, inputs={}, today="2026-01-02")
SUSPENDED = RunSuspended(waiting=(), summary=SUMMARY)
ANSWERED = Answered(waiting="w", key="k", decision="approve")
ENDED = RunEnded(outcome="missing", summary=SUMMARY)


async def journal_with(runs: dict[str, tuple[Fact, ...]], *, held: bool = False) -> MemoryJournal:
    journal = MemoryJournal()
    for run, facts in runs.items():
        writer = await journal.claim(run, holder="another", ttl=60)
        await writer.append(*((fact, 1.0) for fact in facts))
        if not held:
            await writer.release()
    return journal


def tenant_of(service: Service) -> TenantRuns:
    return TenantRuns(service, "acme")


@pytest.mark.parametrize(
    ("facts", "held", "expected"),
    [
        pytest.param((BEGAN,), True, "running", id="worked on elsewhere"),
        pytest.param((BEGAN, SUSPENDED), True, "suspended", id="suspended, and not let go of yet"),
        pytest.param((BEGAN, SUSPENDED, ANSWERED), True, "running", id="answered, and worked on"),
        pytest.param((BEGAN, SUSPENDED, ANSWERED), False, "suspended", id="answered, and nobody has gone on yet"),
        pytest.param((BEGAN, ENDED), True, "missing", id="ended, and not let go of yet"),
        pytest.param((BEGAN, ENDED), False, "missing", id="ended"),
        pytest.param((BEGAN, RunInterrupted(why="w")), False, "interrupted", id="interrupted"),
    ],
)
async def test_where_a_run_stands(facts: tuple[Fact, ...], held: bool, expected: str) -> None:
    """By its last work, whoever holds it."""
    service = service_of(journal=await journal_with({"acme.r": facts}, held=held))
    async with service:
        runs = tenant_of(service)

        assert expected == runs.state(await runs.outline("acme.r"))


async def test_a_page_of_rare_runs() -> None:
    """However many others there are in between, and it ends where there are no more."""
    facts: dict[str, tuple[Fact, ...]] = {f"acme.{number}": (BEGAN, ENDED) for number in range(2 * SCANNED + 10)}
    rare = ("acme.3", "acme.150")
    facts |= dict.fromkeys(rare, (BEGAN, SUSPENDED))
    service = service_of(journal=await journal_with(facts))
    async with service:
        first = await tenant_of(service).page(before="", most=1, states={"suspended"})
        second = await tenant_of(service).page(before=first.following, most=1, states={"suspended"})
        third = await tenant_of(service).page(before=second.following, most=1, states={"suspended"})

    assert [["acme.150"], ["acme.3"], []] == [[outline.run for outline, _ in page.runs] for page in (first, second, third)]
    assert "" == third.following


class Torn(MemoryJournal):
    """A journal of which one run can't be read."""

    async def read(self, run: str, *, after: int = 0) -> tuple[Recorded, ...]:
        if run == "acme.torn":
            raise JournalDamaged(run, "torn")
        return await super().read(run, after=after)


async def test_a_damaged_run_hides_no_other() -> None:
    """What waits in the others is told."""
    journal = Torn()
    asked = Waiting(step="a", key="k", what="send this?", kind="approval")
    for run in ("acme.torn", "acme.sound"):
        writer = await journal.claim(run, holder="another", ttl=60)
        await writer.append((BEGAN, 1.0), (StepPaused(waiting=asked), 1.0), (SUSPENDED, 1.0))
        await writer.release()
    service = service_of(journal=journal)
    async with service:
        assert ["acme.sound"] == [run.outline.run for run in await tenant_of(service).waiting()]


async def test_what_is_pending_in_a_run_that_ended() -> None:
    """Has nobody to hear an answer, so it is not asked for."""
    service = service_of(journal=await journal_with({"acme.r": (BEGAN, ENDED)}))
    async with service:
        assert () == (await tenant_of(service).recall("acme.r")).pending
        assert [] == await tenant_of(service).waiting()
