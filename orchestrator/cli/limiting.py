"""The limits of a run that the command line begins."""

from msgspec.structs import replace

from orchestrator.cli.options import Options
from orchestrator.limits import Limits
from orchestrator.settings import Settings
from orchestrator.wiring import EMBEDDED, roles_asked
from registry.budget import WhenUnpriced

MODEST = Limits(step_seconds=300, step_iterations=3, rounds=1, reply_tokens=200, answer_tokens=400)
"""For the embedded model alone: it is slow, and trying on makes it no wiser."""


def only_embedded(options: Options) -> bool:
    """Whether no other model than the embedded one is asked for."""
    return {name for chain in roles_asked(options.models).values() for name in chain} == {EMBEDDED}


def limits_for(settings: Settings, options: Options) -> Limits:
    """What the options say, and the settings file; without it, modest limits where only the embedded model is asked for."""
    limits = MODEST if only_embedded(options) and settings.limits == Limits() else settings.limits
    rounds = options.max_rounds
    limits = limits if rounds is None else replace(limits, rounds=rounds, submitted_rounds=rounds)
    said = {name: getattr(options, name) for name in ("max_requests", "max_tokens", "max_cost", "max_seconds")}
    return replace(limits, **{name: limit for name, limit in said.items() if limit is not None})


def unpriced_for(settings: Settings, options: Options) -> WhenUnpriced:
    """What becomes of models without a price where money is limited."""
    return "allow" if options.allow_unpriced else settings.unpriced
