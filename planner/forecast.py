"""What a plan will take, before it runs: model calls, tokens, money, and seconds on its critical path.

It is an estimate: from what the plan declares, for seconds from how long steps took before, and from defaults for the rest. What
nobody can price stays unknown.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from planner.check.repeats import repeated
from planner.figures import (
    AT_NO_COST,
    DECLARED,
    NONE,
    ONCE,
    Basis,
    Figures,
    Span,
    declared,
    least_sure,
    one_after_another,
    paid,
    perhaps,
    summed,
    times,
)
from planner.graph import graph, order
from planner.past import Experience
from planner.plan import AnyStep, ApprovalStep, Draft, JudgeCheck, MapStep, PlanStep, Step, ToolStep
from registry.models.prices import FREE, Tariff
from registry.usage import Usage

if TYPE_CHECKING:
    import networkx as nx

_CALL_TOKENS: Span[float] = Span(200.0, 1_500.0, 8_000.0)
_CALL_SECONDS: Span[float] = Span(0.5, 4.0, 30.0)
_TOOL_SECONDS: Span[float] = Span(0.0, 1.0, 30.0)
_ITEMS: Span[float] = Span(0.0, 5.0, 50.0)


class Defaults(Struct, frozen=True, kw_only=True):
    """What is taken for granted where a plan says nothing.

    A step's agent makes at most `iterations` calls, and most probably `laps` if it has tools. `written` is the part of all tokens
    that a model writes itself. `items` is how many a map goes over while its list is not known.
    """

    iterations: int = 15
    laps: int = 3
    written: float = 0.25
    call_tokens: Span[float] = _CALL_TOKENS
    call_seconds: Span[float] = _CALL_SECONDS
    tool_seconds: Span[float] = _TOOL_SECONDS
    items: Span[float] = _ITEMS


DEFAULTS = Defaults()

Prices = Callable[[str | None], Tariff | None]
"""What the model of a hint charges (None is the general one), None where nobody knows it."""


class Forecast(Struct, frozen=True, kw_only=True):
    """`steps` are in plan order. `answer` is what writing the answer takes, None where a step's output is the answer.

    `total` counts seconds on the critical path only, for steps run side by side; its cost is a lower bound unless all is
    `priced`. `path` names the steps that are most probably the critical path, from its beginning.
    """

    steps: Mapping[str, Figures]
    answer: Figures | None
    total: Figures
    priced: bool
    path: tuple[str, ...]


_POINTS = ("low", "likely", "high")

_NO_EXPERIENCE = Experience()


def forecast(plan: Draft, prices: Prices, defaults: Defaults = DEFAULTS, experience: Experience = _NO_EXPERIENCE) -> Forecast:
    """What the plan will take. A person's time to answer an approval is not in it. Expects no circles."""
    ahead = _Ahead(prices, defaults, experience)
    return ahead.whole(plan, ahead.calls("synthesis", ONCE) if plan.output is None else None)


def likely_seconds(steps: Iterable[AnyStep], experience: Experience) -> dict[str, float]:
    """By step id, how long each will most probably take, where its plan does not limit that."""
    ahead = _Ahead(_unpriced, DEFAULTS, experience)
    return {step.id: ahead.likely(step) for step in steps}


class _Ahead:
    """Looks ahead at single steps."""

    def __init__(self, prices: Prices, defaults: Defaults, experience: Experience) -> None:
        self._prices, self._defaults, self._experience = prices, defaults, experience

    def likely(self, step: AnyStep) -> float:
        """The likely seconds of `of` alone, for less than that costs where there is little to look at."""
        took = self._experience.of(step) if self._experience.past and step.estimate is None else None
        if took is not None:
            return took.likely
        match step:
            case ToolStep(estimate=None, verify=None):
                return self._defaults.tool_seconds.likely
            case Step(estimate=None, verify=None):
                return self._laps(step, self._defaults.iterations).likely * self._defaults.call_seconds.likely
            case _:
                return self.of(step, None).seconds.likely

    def whole(self, plan: Draft, answer: Figures | None) -> Forecast:
        """What the plan takes, and after it the answer."""
        steps = {step.id: self.of(step, plan.limits.max_iterations) for step in plan.steps}
        for twin in repeated(plan, {}):  # which is not done, and takes as long as the one that is
            steps[twin] = replace(steps[twin], calls=NONE, tokens=NONE, cost=AT_NO_COST)
        parts = [*steps.values(), *([answer] if answer else [])]
        edges = graph(plan.steps)
        paths = [_longest(edges, {name: getattr(figures.seconds, at) for name, figures in steps.items()}) for at in _POINTS]
        known = [part.cost for part in parts if part.cost is not None]
        total = Figures(
            calls=summed(part.calls for part in parts),
            tokens=summed(part.tokens for part in parts),
            seconds=Span(*(sum(path.values()) for path in paths)) + (answer.seconds if answer else NONE),
            cost=reduce(add, known, AT_NO_COST),
            basis=least_sure(figures.basis for figures in steps.values() if figures.seconds.high),
        )
        return Forecast(steps=steps, answer=answer, total=total, priced=len(known) == len(parts), path=tuple(paths[1]))

    def of(self, step: AnyStep, laps: int | None) -> Figures:
        """What the step takes, in all its tries; at the least nothing, if it has a condition. `laps` is its plan's limit."""
        figures = self._known(step, self._assumed(step, laps or self._defaults.iterations))
        return perhaps(figures) if step.when is not None else figures

    def calls(self, hint: str | None, calls: Span[float], *, tokens: Span[float] | None = None) -> Figures:
        """What so many calls of the hint's model take."""
        usual = self._defaults
        tokens = tokens or times(usual.call_tokens, calls)
        return Figures(calls=calls, tokens=tokens, seconds=times(usual.call_seconds, calls), cost=self._cost(hint, tokens))

    @property
    def _inside(self) -> "_Ahead":
        """The same for what a step consists of, of which only the likeness is known: ids mean something else there."""
        return _Ahead(self._prices, self._defaults, replace(self._experience, scopes={}))

    def _assumed(self, step: AnyStep, laps: int) -> Figures:
        match step:
            case Step():
                return self._of_agent(step, laps)
            case ToolStep(retries=retries):
                most = Span(1.0, 1.0, 1.0 + retries)
                return one_after_another(Figures(seconds=times(self._defaults.tool_seconds, most)), self._of_judge(step, most))
            case ApprovalStep():
                return Figures()
            case MapStep():
                return self._of_map(step, laps)
            case PlanStep(plan=plan):
                inner = self._inside.whole(plan, None)
                return inner.total if inner.priced else replace(inner.total, cost=None)

    def _of_agent(self, step: Step, laps: int) -> Figures:
        once = self._laps(step, laps)
        first, *others = step.hints
        figures = self.calls(first, once)
        for hint in others:  # they take over only when all tries of the one before have failed
            figures = one_after_another(figures, self.calls(hint, Span(0.0, 0.0, once.high)))
        return one_after_another(figures, self._of_judge(step, Span(1.0, 1.0, (1.0 + step.retries) * len(step.hints))))

    def _laps(self, step: Step, laps: int) -> Span[float]:
        """The calls of one model, in all its tries."""
        most = float(step.max_iterations or laps)
        likely = 1.0 if step.tools == () else min(most, float(self._defaults.laps))
        return Span(1.0, likely, most * (1 + step.retries))

    def _of_judge(self, step: Step | ToolStep, tries: Span[float]) -> Figures:
        judge = step.verify
        return self.calls(judge.model or "planning", tries) if isinstance(judge, JudgeCheck) else Figures()

    def _of_map(self, step: MapStep, laps: int) -> Figures:
        each = self._inside.of(step.step, laps)
        known = float(len(step.over)) if isinstance(step.over, list | tuple) else None
        items = self._defaults.items if known is None else Span(known, known, known)
        waves = Span(*(_waves(number, step.width) for number in items.points))
        return Figures(
            calls=times(each.calls, items),
            tokens=times(each.tokens, items),
            seconds=times(each.seconds, waves),
            cost=None if each.cost is None else paid(each.cost, items),
            basis=each.basis,
        )

    def _known(self, step: AnyStep, assumed: Figures) -> Figures:
        """What the step's own estimate says, how long it took before, and the rest as it was assumed."""
        took = self._experience.of(step)
        if took is not None:
            basis = Basis("history", took.times)
            assumed = replace(assumed, seconds=Span(took.low, took.likely, took.high), basis=basis)
        said = step.estimate
        if said is None:
            return assumed
        calls = declared(said.calls) or assumed.calls
        tokens = declared(said.tokens) or (times(self._defaults.call_tokens, calls) if said.calls else assumed.tokens)
        seconds = declared(said.seconds) or (None if took or not said.calls else times(self._defaults.call_seconds, calls))
        hint = step.hints[0] if isinstance(step, Step) else None
        cost = assumed.cost if tokens == assumed.tokens else self._cost(hint, tokens)
        figures = replace(assumed, calls=calls, tokens=tokens, cost=cost)
        return figures if seconds is None else replace(figures, seconds=seconds, basis=DECLARED)

    def _cost(self, hint: str | None, tokens: Span[float]) -> Span[Decimal] | None:
        tariff = self._prices(hint)
        if tariff is None:
            return None
        return Span(*(tariff.charge(self._usage(number)) for number in tokens.points))

    def _usage(self, tokens: float) -> Usage:
        written = round(tokens * self._defaults.written)
        return Usage(input_tokens=round(tokens) - written, output_tokens=written)


def _longest(edges: "nx.DiGraph[str]", seconds: Mapping[str, float]) -> dict[str, float]:
    """The steps of the longest path, from its beginning, and what each takes."""
    until: dict[str, float] = {}
    before: dict[str, str | None] = {}
    for step in order(edges):
        last = max(edges.predecessors(step), key=until.__getitem__, default=None)
        until[step], before[step] = seconds[step] + (until[last] if last else 0.0), last
    at = max(until, key=until.__getitem__, default=None)
    path: dict[str, float] = {}
    while at is not None:
        path[at] = seconds[at]
        at = before[at]
    return dict(reversed(path.items()))


def _unpriced(_: str | None) -> Tariff | None:
    """For whoever does not ask what it costs."""
    return FREE


def _waves(items: float, width: int | None) -> float:
    return min(items, 1.0) if width is None else float(math.ceil(items / width))
