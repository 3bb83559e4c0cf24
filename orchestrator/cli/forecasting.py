"""`dagwright forecast`, and forecasts beside what came of them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cache, partial
from pathlib import Path

import orjson
from msgspec import to_builtins

from orchestrator.cli.asked import read_written, sound
from orchestrator.cli.ending import ACHIEVED
from orchestrator.cli.limiting import limits_for
from orchestrator.cli.options import Options
from orchestrator.cli.runs.recalling import with_journal
from orchestrator.cli.view.text import cost_told, dollars_told, listed, seconds_told, table, tokens_told
from orchestrator.cli.world import World
from orchestrator.history import history, scopes_of
from orchestrator.journal.protocol import Journal
from orchestrator.limits import Limits
from orchestrator.settings import Settings
from orchestrator.wiring import offered, tariff_of
from planner import AnyStep, Draft, Step
from planner.figures import Basis, Figures, Span
from planner.forecast import Defaults, Forecast, Prices, forecast
from planner.past import Experience, Named, Past
from registry.messages import Json
from registry.models.prices import Tariff
from registry.models.registry import GENERAL
from registry.usage import Usage

HEAD = ("", "calls", "tokens", "seconds", "cost", "seconds from")


def forecast_plan(world: World, path: Path, options: Options) -> int:
    """Prints what a plan file will take, step by step and altogether. Connects to nothing. Returns the exit code."""
    settings, plan = world.settings(options.config), sound(read_written(path))
    past: Past = {}
    if settings.journal.path is not None and settings.journal.path.exists():  # and to look ahead leaves no file behind
        past = with_journal(world, options, partial(past_of, plan=plan, inputs={}, settings=settings, options=options))
    experience = experience_of(plan, past, {}, settings, options)
    limits = limits_for(settings, options)
    ahead = forecast_of(plan, settings, options, now=world.ports.now(), limits=limits, experience=experience)
    print(orjson.dumps(forecast_report(ahead)).decode() if options.as_json else "\n".join(forecast_lines(ahead)))
    return ACHIEVED


async def past_of(journal: Journal, plan: Draft, inputs: Mapping[str, Json], settings: Settings, options: Options) -> Past:
    """How long the plan's steps, or such as are like them, took in the runs of the journal with these models."""
    return await history(journal, plan, inputs, _named(settings, options))


def experience_of(plan: Draft, past: Past, inputs: Mapping[str, Json], settings: Settings, options: Options) -> Experience:
    """What is known of the plan's steps with these models."""
    return Experience(past=past, scopes=scopes_of(plan, inputs) if past else {}, named=_named(settings, options))


def forecast_of(
    plan: Draft,
    settings: Settings,
    options: Options,
    *,
    now: datetime,
    limits: Limits,
    experience: Experience,
) -> Forecast:
    """What the plan will take with these models, at today's prices, and by what is known of its steps."""
    return forecast(plan, _prices(settings, options, now), Defaults(iterations=limits.step_iterations), experience)


def excess(ahead: Forecast, options: Options) -> str:
    """Why the plan takes more than it may, whatever happens; empty where it need not."""
    least = ahead.total
    if options.max_cost is not None and least.cost is not None and least.cost.low > options.max_cost:
        return f"it costs {dollars_told(least.cost.low, exact=False)}, and --max-cost allows {dollars_told(options.max_cost)}"
    if options.max_seconds is not None and least.seconds.low > options.max_seconds:
        return (
            f"it takes at least {seconds_told(least.seconds.low)}, and --max-seconds allows {seconds_told(options.max_seconds)}"
        )
    return ""


def forecast_lines(ahead: Forecast) -> list[str]:
    """A table with low, likely and high figures for each step, and the critical path."""
    rows = [(name, *_cells(figures)) for name, figures in ahead.steps.items()]
    rows += [("(the answer)", *_cells(ahead.answer))] if ahead.answer else []
    total = ("altogether", *_cells(ahead.total)[:-2], _cost(ahead.total.cost, priced=ahead.priced), "")
    path = f"critical path: {listed(list(ahead.path))}"
    return [
        *table([HEAD, *rows, total]),
        path,
        "low / likely / high; what runs side by side counts once in the seconds altogether",
    ]


def forecast_report(ahead: Forecast) -> dict[str, Json]:
    """The same for programs. Money is text, null where it is unknown."""
    return {
        "steps": {name: _plain(figures) for name, figures in ahead.steps.items()},
        "answer": ahead.answer and _plain(ahead.answer),
        "total": _plain(ahead.total),
        "priced": ahead.priced,
        "critical_path": list(ahead.path),
    }


def beside_actual(ahead: Forecast, usage: Usage, seconds: float) -> list[str]:
    """The forecast of a plan beside what its run took."""
    total = ahead.total
    cost = dollars_told(usage.cost) if usage.cost_exact else cost_told(usage)
    rows = [
        ("", "forecast", "actual"),
        ("model calls", _numbers(total.calls), f"{usage.requests:,}"),
        ("tokens", _numbers(total.tokens), tokens_told(usage.tokens, exact=usage.exact).removesuffix(" tokens")),
        ("seconds", _seconds(total.seconds), f"{seconds:.1f}"),
        ("cost", _cost(total.cost, priced=ahead.priced), cost),
    ]
    return table(rows)


def _prices(settings: Settings, options: Options, now: datetime) -> Prices:
    models = offered(settings, options.models)

    @cache
    def price(hint: str | None) -> Tariff | None:
        found = models.get(GENERAL if hint is None else hint)
        return None if found is None else tariff_of(found.spec, "", now)

    return price


def _named(settings: Settings, options: Options) -> Named:
    models = offered(settings, options.models)

    def named(step: AnyStep) -> str:
        found = models.get(step.hints[0] or GENERAL) if isinstance(step, Step) else None
        return "" if found is None else found.name

    return named


def _cells(figures: Figures) -> tuple[str, ...]:
    cost = _cost(figures.cost, priced=True)
    return _numbers(figures.calls), _numbers(figures.tokens), _seconds(figures.seconds), cost, _basis(figures.basis)


def _basis(basis: Basis) -> str:
    return f"history of {basis.times}" if basis.kind == "history" else basis.kind


def _numbers(span: Span[float]) -> str:
    return _told([f"{number:,.0f}" for number in span.points])


def _seconds(span: Span[float]) -> str:
    return _told([f"{number:,.1f}" for number in span.points])


def _cost(cost: Span[Decimal] | None, *, priced: bool) -> str:
    if cost is None or (not priced and not cost.high):
        return "unknown"
    told = _told([dollars_told(amount) for amount in cost.points])
    return told if priced else f"at least {told}"


def _told(points: Sequence[str]) -> str:
    """One figure where all three are the same."""
    return points[0] if len(set(points)) == 1 else " / ".join(points)


def _plain(figures: Figures) -> dict[str, Json]:
    cost = figures.cost and {at: f"{getattr(figures.cost, at):f}" for at in figures.cost.__struct_fields__}
    return {**to_builtins(figures), "cost": cost}
