"""What a run was asked for, written down as its beginning."""

from collections.abc import Iterator, Mapping
from typing import Self

from msgspec import Struct, field

from orchestrator.errors import UnknownRun
from orchestrator.events.facts import RunStarted
from orchestrator.ledger import Ledger
from orchestrator.limits import Limits
from orchestrator.spending.nested import limits_inside
from orchestrator.state import RunState
from planner import Plan
from registry.budget import UNLIMITED, Amounts, WhenUnpriced
from registry.errors import ConfigurationError
from registry.messages import Json
from registry.storable import unstorable

NO_LIMITS = Limits()


class Accepted(Struct, frozen=True, kw_only=True):
    """What was asked for: a goal, or a plan with its inputs, on a day, and within which limits."""

    goal: str
    plan: Plan | None
    inputs: Mapping[str, Json]
    today: str
    limits: Amounts = UNLIMITED
    unpriced: WhenUnpriced = "refuse"
    setup: Mapping[str, Json] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        goal: str | Plan,
        inputs: Mapping[str, Json],
        *,
        today: str,
        setup: Mapping[str, Json],
        limits: Limits = NO_LIMITS,
        unpriced: WhenUnpriced = "refuse",
    ) -> Self:
        """Of a plan's own limits and those of whoever asks, the smaller ones hold. Raises `ConfigurationError`."""
        if inputs and not isinstance(goal, Plan):
            raise ConfigurationError("inputs are for a plan that asks for them; a goal in words has none")
        found = unstorable(dict(inputs), "inputs") or unstorable(dict(setup), "setup")
        if found is not None:
            raise ConfigurationError(found)
        plan = goal if isinstance(goal, Plan) else None
        return cls(
            goal=goal if isinstance(goal, str) else goal.goal,
            plan=plan,
            inputs=inputs,
            today=today,
            limits=limits.budget if plan is None else limits.budget.least(plan.limits.budget),
            unpriced=unpriced,
            setup=setup,
        )

    @property
    def all_limits(self) -> Iterator[Amounts]:
        """Those of the run, and of each plan inside its own."""
        yield self.limits
        yield from () if self.plan is None else limits_inside(self.plan)

    @classmethod
    def again(cls, state: RunState, run_id: str) -> Self:
        """What a run of the journal was asked for. Raises `UnknownRun` when not even that was written down."""
        if state.started is None:
            raise UnknownRun(run_id)
        return cls(goal=state.started.goal, plan=state.started.plan, inputs=state.started.inputs, today=state.started.today)


async def begin(accepted: Accepted, ledger: Ledger) -> None:
    """Write down what was asked for: the first thing of every run."""
    if ledger.state.started is None:
        await ledger.record(
            RunStarted(
                goal=accepted.goal,
                plan=accepted.plan,
                inputs=accepted.inputs,
                today=accepted.today,
                limits=accepted.limits,
                unpriced=accepted.unpriced,
                setup=accepted.setup,
            )
        )
