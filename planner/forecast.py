"""What a plan will take, before it runs: model calls, tokens, money, and seconds on its critical path.

It is an estimate, from what the plan declares and from defaults for the rest. What nobody can price stays unknown.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Generic, TypeVar

from planner.graph import graph, order
from planner.plan import AnyStep, ApprovalStep, Draft, JudgeCheck, MapStep, PlanStep, Spread, Step, ToolStep
from registry.models.prices import Tariff
from registry.usage import NOTHING, Usage

if TYPE_CHECKING:
    import networkx as nx

N = TypeVar("N", float, Decimal)


@dataclass(frozen=True, slots=True)
class Span(Generic[N]):
    """At the least, most probably, and at the most."""

    low: N
    likely: N
    high: N

    @property
    def points(self) -> tuple[N, N, N]:
        return self.low, self.likely, self.high

    def __add__(self, other: "Span[N]") -> "Span[N]":
        return Span(self.low + other.low, self.likely + other.likely, self.high + other.high)


_NONE: Span[float] = Span(0.0, 0.0, 0.0)
_FREE = Span(NOTHING, NOTHING, NOTHING)
_ONE_CALL: Span[float] = Span(1.0, 1.0, 1.0)

_CALL_TOKENS: Span[float] = Span(200.0, 1_500.0, 8_000.0)
_CALL_SECONDS: Span[float] = Span(0.5, 4.0, 30.0)
_TOOL_SECONDS: Span[float] = Span(0.0, 1.0, 30.0)
_ITEMS: Span[float] = Span(0.0, 5.0, 50.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What something takes. `cost` is in US dollars, None where nobody knows the price of a model that may do it."""

    calls: Span[float] = _NONE
    tokens: Span[float] = _NONE
    seconds: Span[float] = _NONE
    cost: Span[Decimal] | None = _FREE


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
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


def forecast(plan: Draft, prices: Prices, defaults: Defaults = DEFAULTS) -> Forecast:
    """What the plan will take. A person's time to answer an approval is not in it. Expects no circles."""
    ahead = _Ahead(prices, defaults)
    return ahead.whole(plan, ahead.calls("synthesis", _ONE_CALL) if plan.output is None else None)


class _Ahead:
    """Looks ahead at single steps."""

    def __init__(self, prices: Prices, defaults: Defaults) -> None:
        self._prices, self._defaults = prices, defaults

    def whole(self, plan: Draft, answer: Figures | None) -> Forecast:
        """What the plan takes, and after it the answer."""
        steps = {step.id: self.of(step, plan.limits.max_iterations) for step in plan.steps}
        parts = [*steps.values(), *([answer] if answer else [])]
        edges = graph(plan.steps)
        paths = [_longest(edges, {name: getattr(figures.seconds, at) for name, figures in steps.items()}) for at in _POINTS]
        known = [part.cost for part in parts if part.cost is not None]
        total = Figures(
            calls=_sum(part.calls for part in parts),
            tokens=_sum(part.tokens for part in parts),
            seconds=Span(*(sum(path.values()) for path in paths)) + (answer.seconds if answer else _NONE),
            cost=reduce(add, known, _FREE),
        )
        return Forecast(steps=steps, answer=answer, total=total, priced=len(known) == len(parts), path=tuple(paths[1]))

    def of(self, step: AnyStep, laps: int | None) -> Figures:
        """What the step takes, in all its tries; at the least nothing, if it has a condition. `laps` is its plan's limit."""
        figures = self._declared(step, self._assumed(step, laps or self._defaults.iterations))
        return _perhaps(figures) if step.when is not None else figures

    def calls(self, hint: str | None, calls: Span[float], *, tokens: Span[float] | None = None) -> Figures:
        """What so many calls of the hint's model take."""
        usual = self._defaults
        tokens = tokens or _times(usual.call_tokens, calls)
        return Figures(calls=calls, tokens=tokens, seconds=_times(usual.call_seconds, calls), cost=self._cost(hint, tokens))

    def _assumed(self, step: AnyStep, laps: int) -> Figures:
        match step:
            case Step():
                return self._of_agent(step, laps)
            case ToolStep(retries=retries):
                most = Span(1.0, 1.0, 1.0 + retries)
                return _with(Figures(seconds=_times(self._defaults.tool_seconds, most)), self._of_judge(step, most))
            case ApprovalStep():
                return Figures()
            case MapStep():
                return self._of_map(step, laps)
            case PlanStep(plan=plan):
                inner = self.whole(plan, None)
                return inner.total if inner.priced else replace(inner.total, cost=None)

    def _of_agent(self, step: Step, laps: int) -> Figures:
        most = float(step.max_iterations or laps)
        likely = 1.0 if step.tools == () else min(most, float(self._defaults.laps))
        once = Span(1.0, likely, most * (1 + step.retries))
        first, *others = step.hints
        figures = self.calls(first, once)
        for hint in others:  # they take over only when all tries of the one before have failed
            figures = _with(figures, self.calls(hint, Span(0.0, 0.0, once.high)))
        return _with(figures, self._of_judge(step, Span(1.0, 1.0, (1.0 + step.retries) * len(step.hints))))

    def _of_judge(self, step: Step | ToolStep, tries: Span[float]) -> Figures:
        judge = step.verify
        return self.calls(judge.model or "planning", tries) if isinstance(judge, JudgeCheck) else Figures()

    def _of_map(self, step: MapStep, laps: int) -> Figures:
        each = self.of(step.step, laps)
        known = float(len(step.over)) if isinstance(step.over, list | tuple) else None
        items = self._defaults.items if known is None else Span(known, known, known)
        waves = Span(*(_waves(number, step.width) for number in items.points))
        return Figures(
            calls=_times(each.calls, items),
            tokens=_times(each.tokens, items),
            seconds=_times(each.seconds, waves),
            cost=None if each.cost is None else _priced(each.cost, items),
        )

    def _declared(self, step: AnyStep, assumed: Figures) -> Figures:
        """What the step's own estimate says, and the rest as it was assumed."""
        said = step.estimate
        if said is None:
            return assumed
        calls = _span(said.calls) or assumed.calls
        tokens = _span(said.tokens) or (_times(self._defaults.call_tokens, calls) if said.calls else assumed.tokens)
        likely = self._defaults.call_seconds
        seconds = _span(said.seconds) or (_times(likely, calls) if said.calls else assumed.seconds)
        hint = step.hints[0] if isinstance(step, Step) else None
        cost = assumed.cost if tokens == assumed.tokens else self._cost(hint, tokens)
        return Figures(calls=calls, tokens=tokens, seconds=seconds, cost=cost)

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


def _with(one: Figures, other: Figures) -> Figures:
    """One after the other."""
    cost = None if one.cost is None or other.cost is None else one.cost + other.cost
    return Figures(
        calls=one.calls + other.calls, tokens=one.tokens + other.tokens, seconds=one.seconds + other.seconds, cost=cost
    )


def _perhaps(figures: Figures) -> Figures:
    cost = None if figures.cost is None else Span(NOTHING, figures.cost.likely, figures.cost.high)
    calls, tokens, seconds = (Span(0.0, span.likely, span.high) for span in (figures.calls, figures.tokens, figures.seconds))
    return Figures(calls=calls, tokens=tokens, seconds=seconds, cost=cost)


def _times(span: Span[float], number: Span[float]) -> Span[float]:
    return Span(span.low * number.low, span.likely * number.likely, span.high * number.high)


def _priced(cost: Span[Decimal], number: Span[float]) -> Span[Decimal]:
    return Span(cost.low * int(number.low), cost.likely * int(number.likely), cost.high * int(number.high))


def _sum(spans: Iterable[Span[float]]) -> Span[float]:
    return reduce(add, spans, _NONE)


def _span(said: Spread | None) -> Span[float] | None:
    return None if said is None else Span(said.low, said.likely, said.high)


def _waves(items: float, width: int | None) -> float:
    return min(items, 1.0) if width is None else float(math.ceil(items / width))
