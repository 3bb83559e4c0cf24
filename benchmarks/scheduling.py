"""Which of the ready steps goes first, and what that is worth: plans whose steps take very different times, with few slots.

    python benchmarks/scheduling.py [--seeds 100] [--walked 20]

The order is that of the real `Frontier`, fed with the declared estimates as a run feeds it; time is simulated. Each seed draws
its own plan: 40 to 120 steps in layers of 6 to 32, a lognormal spread of seconds, and 4 to 8 slots. Beside the exact seconds the
estimates are also given off by a lognormal factor of spread 0.5. Some of the plans are walked by the real `DAGExecutor` as well,
on a virtual clock, with a model behind a governor of so many slots: there a slot is given to the most urgent request that waits
when it comes free, and the steps that become ready by that are a moment late. Exits with 1 when exact estimates, simulated or
walked, bring the mean over the seeds to more than 0.97 of plan order or 0.82 of level-by-level waves.
"""

import argparse
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path
from statistics import fmean

import anyio
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from orchestrator import DAGExecutor
from orchestrator.frontier import Frontier
from planner import Plan, Step
from planner.forecast import likely_seconds
from planner.past import Experience
from planner.plan import Estimate
from planner.results import Succeeded
from registry.calls import Call
from registry.governor.governor import GovernedModel, Governor
from registry.messages import Reply, Request
from registry.testing import ScriptedModel
from tests.backends import backend

STEPS, WIDTHS, SLOTS = (40, 120), (6, 32), (4, 8)
SKEW, BLUR = (0.75, 1.0), 0.5
BELOW_PLAN_ORDER, BELOW_WAVES = 0.97, 0.82


@dataclass(frozen=True, kw_only=True)
class Case:
    """A plan, the seconds that its steps really take, and how many may be under way at once."""

    needs: Mapping[str, tuple[str, ...]]
    seconds: Mapping[str, float]
    blurred: Mapping[str, float]
    slots: int

    @classmethod
    def of(cls, seed: int) -> "Case":
        chance = random.Random(seed)
        names = [f"s{number}" for number in range(chance.randint(*STEPS))]
        width, skew = chance.randint(*WIDTHS), chance.uniform(*SKEW)
        needs = {name: tuple(dict.fromkeys(_before(names, number, width, chance))) for number, name in enumerate(names)}
        seconds = {name: chance.lognormvariate(0.0, skew) for name in names}
        blurred = {name: took * chance.lognormvariate(0.0, BLUR) for name, took in seconds.items()}
        return cls(needs=needs, seconds=seconds, blurred=blurred, slots=chance.randint(*SLOTS))

    def plan(self, seconds: Mapping[str, float]) -> Plan:
        """The plan with these estimates."""
        steps = [
            Step(id=name, task=name, tools=(), depends_on=needs, estimate=Estimate(seconds=seconds[name]))
            for name, needs in self.needs.items()
        ]
        return Plan(goal="be quick", steps=steps, output=f"${{steps.{steps[-1].id}.output}}")

    def by_rank(self, estimates: Mapping[str, float]) -> float:
        """The seconds until all is done, when those go first that most waits for."""
        plan = self.plan(estimates)
        return self.simulated(Frontier(plan, weights=likely_seconds(plan.steps, Experience())))

    def in_plan_order(self) -> float:
        """The same when those go first that come first in the plan."""
        return self.simulated(Frontier(self.plan(self.seconds), weights=dict.fromkeys(self.needs, 0.0)))

    def in_waves(self) -> float:
        """The same when each level of the plan waits for the whole of the one before."""
        return sum(_packed((self.seconds[name] for name in wave), self.slots) for wave in self._waves())

    def simulated(self, frontier: Frontier) -> float:
        """The seconds until the frontier is at its end, when each step takes as long as it really takes."""
        now, running = 0.0, list[tuple[float, str]]()
        while True:
            while len(running) < self.slots and (step := frontier.take()) is not None:
                heappush(running, (now + self.seconds[step.id], step.id))
            if not running:
                return now
            now, ended = heappop(running)
            frontier.settle(Succeeded(step=ended, output="done"))

    def _waves(self) -> Iterator[Sequence[str]]:
        level: dict[str, int] = {}
        for name, needs in self.needs.items():
            level[name] = 1 + max((level[need] for need in needs), default=-1)
        for number in range(1 + max(level.values())):
            yield [name for name in self.needs if level[name] == number]


def _before(names: Sequence[str], number: int, width: int, chance: random.Random) -> Iterator[str]:
    """What a step waits for: one to three steps of the layers before, mostly of the last one."""
    layer = number // width * width
    for _ in range(chance.randint(1, 3) if layer else 0):
        near = chance.random() < 0.8
        yield names[chance.randrange(layer - width if near else 0, layer)]


def _packed(seconds: Iterable[float], slots: int) -> float:
    """Until all are done, when each takes the first slot that is free."""
    free = [0.0] * slots
    for took in seconds:
        heappush(free, heappop(free) + took)
    return max(free)


class Busy(ScriptedModel):
    """Takes as long for a step as the case says."""

    def __init__(self, seconds: Mapping[str, float]) -> None:
        super().__init__(lambda _: "done")
        self._seconds = seconds

    async def chat(self, request: Request, call: Call) -> Reply:
        await anyio.sleep(self._seconds[call.label])
        return await super().chat(request, call)


async def _walked(case: Case) -> float:
    """The seconds that the real executor takes, on the clock of its event loop."""
    model = GovernedModel(Busy(case.seconds), Governor("here", case.slots))
    began = anyio.current_time()
    await DAGExecutor(model).walk(case.plan(case.seconds))
    return anyio.current_time() - began


def on_a_virtual_clock(case: Case) -> float:
    name, options = backend("trio", virtual=True)
    return anyio.run(_walked, case, backend=name, backend_options=options)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Quotients of the seconds until all is done, one for each seed."""

    name: str
    plan_order: tuple[float, ...]
    waves: tuple[float, ...]

    def row(self) -> tuple[str, ...]:
        quotients = (self.plan_order, self.waves)
        return self.name, *(f"{value:.3f}" for each in quotients for value in (fmean(each), max(each)))

    @property
    def is_good(self) -> bool:
        return fmean(self.plan_order) <= BELOW_PLAN_ORDER and fmean(self.waves) <= BELOW_WAVES


def measured(name: str, cases: Sequence[Case], by_rank: Callable[[Case], float]) -> Measured:
    took = [by_rank(case) for case in cases]
    return Measured(
        name=name,
        plan_order=tuple(mine / case.in_plan_order() for mine, case in zip(took, cases, strict=True)),
        waves=tuple(mine / case.in_waves() for mine, case in zip(took, cases, strict=True)),
    )


def main(seeds: int, walks: int) -> int:
    cases = [Case.of(seed) for seed in range(seeds)]
    exact = measured(f"exact estimates, {seeds} seeds", cases, lambda case: case.by_rank(case.seconds))
    blurred = measured(f"estimates off by {BLUR}, {seeds} seeds", cases, lambda case: case.by_rank(case.blurred))
    walked = measured(f"exact estimates, {walks} walked", cases[:walks], on_a_virtual_clock)
    shown = Table("by rank, with", "of plan order: mean", "worst", "of waves: mean", "worst")
    for each in (exact, blurred, walked):
        shown.add_row(*each.row())
    Console(width=120).print(shown)
    return 0 if exact.is_good and walked.is_good else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--walked", type=int, default=20)
    args = parser.parse_args()
    sys.exit(main(args.seeds, args.walked))
