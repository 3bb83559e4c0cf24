"""What a step says of others and of inputs. It is read once wherever all of a plan is gone through."""

from collections.abc import Sequence

from msgspec import Struct

from planner.references import Reference, Unreadable, scan
from planner.shapes import StepShape


class Mentions(Struct, frozen=True, kw_only=True):
    """`found` is whatever looks like a reference, each with the place of the value that holds it, relative to the step.

    `read` are the steps that it refers to, and `needs` those that it can't start before: it names them, or refers to them.
    Both have each step once.
    """

    found: Sequence[tuple[str, Reference | Unreadable]]
    read: tuple[str, ...]
    needs: tuple[str, ...]


def mentions(step: StepShape) -> Mentions:
    """All that the step mentions, in order."""
    found = [(place, each) for place, value in step.texts() for each in scan(value)]
    read = [each.name for _, each in found if isinstance(each, Reference) and each.source == "steps"]
    return Mentions(found=found, read=tuple(dict.fromkeys(read)), needs=tuple(dict.fromkeys((*step.depends_on, *read))))
