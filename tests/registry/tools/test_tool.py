"""How a tool may be run, by its traits."""

import pytest

from registry.tools.tool import Effect, ToolTraits


@pytest.mark.parametrize(
    ("effect", "side_by_side", "repeatable"),
    [("pure", True, True), ("keyed", False, True), ("transactional", False, False), ("unkeyed", False, False)],
)
def test_the_effect_decides(effect: Effect, side_by_side: bool, repeatable: bool) -> None:
    """Only reading calls overlap; only what does no harm is repeated."""
    traits = ToolTraits(effect=effect)

    assert (side_by_side, repeatable) == (traits.side_by_side, traits.repeatable)


@pytest.mark.parametrize("concurrent", [True, False])
def test_a_tool_may_say_otherwise(concurrent: bool) -> None:
    """`concurrent` goes before what the effect suggests."""
    assert {concurrent} == {ToolTraits(effect=effect, concurrent=concurrent).side_by_side for effect in ("pure", "unkeyed")}


def test_the_default_is_the_careful_one() -> None:
    """A tool that declares nothing is never repeated and never trusted."""
    assert ("unkeyed", False, False) == (ToolTraits().effect, ToolTraits().repeatable, ToolTraits().trusted)
