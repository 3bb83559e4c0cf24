"""What a walk of a plan comes to."""

from msgspec import Struct

from orchestrator.waiting import Waiting
from planner.results import Results


class Settled(Struct, frozen=True, kw_only=True):
    """Every step of the plan has its result, in plan order.

    Of all steps, those inside others too, `finished` are the content digests of those that succeeded by work of their own, and
    `unfinished` of those that did not succeed, but for those on branches that were not taken: that was decided.
    """

    results: Results
    finished: tuple[str, ...]
    unfinished: tuple[str, ...]


class Suspended(Struct, frozen=True, kw_only=True):
    """Some steps wait, and nothing else can go on without them."""

    results: Results
    waiting: tuple[Waiting, ...]
