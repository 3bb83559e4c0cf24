"""Which processes are killed when, one run after another; and two that want the same run."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random

import anyio

from orchestrator import MemoryJournal
from tests.kills.blows import Blow, Moment
from tests.kills.lives import HELD, OVERTAKEN, Site
from tests.kills.verdicts import Verdict, judged
from tests.scenario import World
from tests.scenarios.plans import SCENARIOS, Scenario

BACKENDS = ("asyncio", "trio")


@dataclass(frozen=True)
class Case:
    """The blows that the processes of one run get, one each; the last process gets none."""

    scenario: Scenario
    blows: tuple[Blow, ...]
    backend: str

    def __str__(self) -> str:
        blows = ", then ".join(f"{blow.moment} {blow.nth}" for blow in self.blows)
        return f"{self.scenario.name} on {self.backend}: {blows}"


class Wholes:
    """Each scenario as it goes when nothing disturbs it."""

    def __init__(self, folder: Path) -> None:
        self.sites = {each.name: Site.at(folder / "whole" / each.name, each) for each in SCENARIOS}
        for site in self.sites.values():
            _warm(site.scenario)
            status = _ended(site.begin(1))
            if status != 0:
                raise RuntimeError(f"{site.scenario.name} doesn't even run: it ended with {status}")

    def effects(self, scenario: Scenario) -> int:
        return len(World(scenario, self.sites[scenario.name].outside).used)


def cases(wholes: Wholes) -> Iterator[Case]:
    """Without end. First a blow after every Fact and every effect of every scenario, then at all other moments.

    Every third run is killed a second time.
    """
    moments: tuple[Moment, ...] = ("after", "effect")
    while True:
        points = [
            (scenario, Blow(moment, nth))
            for scenario in SCENARIOS
            for moment in moments
            for nth in range(1, 1 + (wholes.effects(scenario) if moment == "effect" else scenario.facts))
        ]
        Random(0).shuffle(points)  # so that the first few are of all kinds
        for number, (scenario, blow) in enumerate(points):
            again = (Blow(("after", "effect", "amid")[blow.nth % 3], 1 + blow.nth % 7),)
            yield Case(scenario, (blow, *again[number % 3 :]), BACKENDS[number % 2])
        moments = ("amid", "meanwhile", "before", "effect")


def killed(folder: Path, case: Case, wholes: Wholes) -> tuple[int, Verdict]:
    """How many processes of a run were killed, and what came of it."""
    site = Site.at(folder, case.scenario, case.backend)
    kills = life = 0
    for life, blow in enumerate((*case.blows, None), 1):
        status = _ended(site.begin(life, blow))
        kills += status == -signal.SIGKILL
        if status == 0:
            return kills, judged(site, life, wholes.sites[case.scenario.name])
    return kills, Verdict(lost=(f"the run: its last process ended with {status}",), repeated=(), in_doubt=0)


def halts() -> Iterator[Case]:
    """Without end. One process of each is stopped, not killed: before or after a Fact, or when a tool has acted."""
    for number in count():
        blow = Blow(("before", "effect", "after")[number % 3], (5, 1, 12)[number % 3] + number % 4, signal.SIGSTOP)
        yield Case(SCENARIOS[number * 5 % 6], (blow,), BACKENDS[number % 2])


def overtaken(folder: Path, case: Case, wholes: Wholes) -> tuple[int, Verdict]:
    """A process stands still for longer than its claim lasts, and goes on when another has done the run.

    Returns how many Facts it wrote after that.
    """
    site = Site.at(folder, case.scenario, case.backend)
    first = site.begin(1, *case.blows, ttl=0.2)
    _, status = os.waitpid(first, os.WUNTRACED)
    assert os.WIFSTOPPED(status), f"it ended with {status}"
    while (taken := _ended(site.begin(2))) == HELD:
        pass
    assert taken == 0, f"the second one ended with {taken}"
    facts = site.known()
    os.kill(first, signal.SIGCONT)
    late = _ended(first)
    assert late in (OVERTAKEN, 0), f"the first one ended with {late}"  # 0 if it had nothing more to write
    return len(site.known()) - len(facts), judged(site, 2, wholes.sites[case.scenario.name])


def _ended(process: int) -> int:
    """How a process ended: its exit status, or minus the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _warm(scenario: Scenario) -> None:
    """All that is made when it is first needed is made now, so that each process needn't."""
    for backend in BACKENDS:
        anyio.run(World(scenario).live, MemoryJournal(), backend=backend)
