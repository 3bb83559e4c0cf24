"""The whole check."""

from planner.check import Known, check
from tests.planner.drafts import draft, step


def test_everything_is_named():
    """A circle, a duplicate id, an unknown dependency and an unknown tool are all found in one pass."""
    broken = draft(step("a", "b"), step("b", "a"), step("c"), step("c"), step("d", "zz", tool_hint="nix"))

    assert ["P003", "P005", "P006", "P008"] == [found.code for found in check(broken, Known())]


def test_nothing_wrong():
    """A plan that asks for nothing the run lacks passes."""
    assert () == check(draft(step("a", tool_hint="t"), step("b", "a")), Known(tools=frozenset({"t"})))
