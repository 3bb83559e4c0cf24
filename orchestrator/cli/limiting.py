"""The limits of a run that the command line begins."""

from dataclasses import replace

from orchestrator.cli.options import Options
from orchestrator.limits import Limits
from orchestrator.settings import Settings
from orchestrator.wiring import EMBEDDED, roles_asked

MODEST = Limits(step_seconds=300, step_iterations=3, rounds=1, reply_tokens=200, answer_tokens=400)
"""For the embedded model alone: it is slow, and trying on makes it no wiser."""


def only_embedded(options: Options) -> bool:
    """Whether no other model than the embedded one is asked for."""
    return {name for chain in roles_asked(options.models).values() for name in chain} == {EMBEDDED}


def limits_for(settings: Settings, options: Options) -> Limits:
    """The limits of the settings file; without any, modest ones where only the embedded model is asked for."""
    limits = MODEST if only_embedded(options) and settings.limits == Limits() else settings.limits
    rounds = options.max_rounds
    return limits if rounds is None else replace(limits, rounds=rounds, submitted_rounds=rounds)
