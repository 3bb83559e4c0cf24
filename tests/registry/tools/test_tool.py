"""How a tool may be run, by its traits."""

from typing import Any

import pytest

from registry.errors import ConfigurationError
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


@pytest.mark.parametrize(
    ("traits", "told"),
    [
        pytest.param({"timeout": 0}, "timeout of 0 s", id="no time"),
        pytest.param({"retries": -1}, "-1 retries", id="fewer than none"),
        pytest.param({"again_if_empty": 3}, "called again 3 times", id="too often"),
    ],
)
def test_nonsense_is_refused(traits: dict[str, Any], told: str) -> None:
    """A number that no call could go by is the author's error, said when the tool is made."""
    with pytest.raises(ConfigurationError, match=told):
        ToolTraits(**traits)


def test_the_default_is_the_careful_one() -> None:
    """A tool that declares nothing is never repeated and never trusted."""
    assert ("unkeyed", False, False) == (ToolTraits().effect, ToolTraits().repeatable, ToolTraits().trusted)
