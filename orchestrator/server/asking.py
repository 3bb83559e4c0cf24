"""What a request asks for, held against what this server has: a request can narrow that, and never widen it."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.structs import fields, replace

from orchestrator.limits import Limits
from orchestrator.server.problems import Problem
from planner import Diagnostic, Draft, Known, Plan, PlanError, check
from planner.files import WrittenPlan, draft_from, written_plan
from registry.digests import digest
from registry.messages import Json
from registry.models.registry import ModelRegistry
from registry.tools.registry import ToolRegistry

PlanText = Mapping[str, Json] | str
"""A plan as a JSON object, or as text in JSON or YAML."""

NARROWED: Mapping[str, Any] = {each.name: each.type for each in fields(Limits) if each.name != "unpriced"}
"""The limits that a request may set, with their types. Of each the server's own is the most."""

_KEY = "service"


class Means(Struct, frozen=True, kw_only=True):
    """All that any run of this server may use, and the most that one may be given."""

    models: ModelRegistry
    tools: ToolRegistry
    limits: Limits

    def checked(self, plan: PlanText, inputs: Mapping[str, Json] | None) -> tuple[Draft, tuple[Diagnostic, ...]]:
        """The draft, and all that is found in it; where there are no inputs the plan alone is asked about, not a run of it.

        Raises `PlanError` for what can't be read as a plan.
        """
        written = _written(plan)
        found = check(written.draft, Known.of(self.tools, self.models.by_hint, inputs))
        if inputs is None:
            found = tuple(one for one in found if one.code != "P011" or not one.place.startswith("/inputs/"))
        return written.draft, written.located(found)

    def plan(self, plan: PlanText, inputs: Mapping[str, Json]) -> Plan:
        """The plan, if a run of it can be begun here. Raises `PlanError`."""
        draft, found = self.checked(plan, inputs)
        wrong = tuple(one for one in found if one.severity == "error")
        if wrong:
            raise PlanError(wrong)
        return Plan.of(draft)

    def narrowed(self, wanted: Mapping[str, Json]) -> Limits:
        """The limits, with those that are wanted instead of the server's. Raises a `Problem` for one that is above it."""
        for name, value in wanted.items():
            most = getattr(self.limits, "rounds" if name == "submitted_rounds" else name)
            if most is not None and value > most:
                raise Problem(422, "bad-limits", f"{name} may be {most} at most, and not {value}", limit=name, most=most)
        return replace(self.limits, **wanted)

    def least(self, limits: Limits) -> Limits:
        """What a run was begun with, as far as the server still gives that."""
        least = {name: _lesser(getattr(limits, name), getattr(self.limits, name)) for name in NARROWED}
        return replace(self.limits, **least)


class Setup(Struct, frozen=True, kw_only=True):
    """How a run was begun here, written down with it. `asked` is the digest of the request. An `attached` run goes on only for as
    long as the client that began it is there."""

    limits: Limits
    asked: str = ""
    attached: bool = False

    @staticmethod
    def read(written: Mapping[str, Json]) -> "Setup | None":
        """What a run has written down; None when another program began it."""
        try:
            return convert(written.get(_KEY), Setup)
        except ValidationError:
            return None

    def written(self) -> dict[str, Json]:
        """For the journal."""
        return {_KEY: to_builtins(self)}


def named_by(key: str) -> str:
    """The name of the run that an idempotency key stands for: whoever sends the key again names the same run."""
    return f"k{digest(['idempotency', key])[:24]}"


def _lesser(one: Json, other: Json) -> Json:
    return min((each for each in (one, other) if each is not None), default=None)


def _written(plan: PlanText) -> WrittenPlan:
    if isinstance(plan, str):
        return written_plan(plan, name="the plan")
    return WrittenPlan(draft=draft_from(plan), places={})
