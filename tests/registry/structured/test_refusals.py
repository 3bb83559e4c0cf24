"""What was refused is remembered for a while, model by model."""

import anyio
import pytest

from registry.structured import refusals
from registry.testing import ScriptedModel

pytestmark = pytest.mark.anyio


async def test_a_refusal_holds_for_its_model_and_rung_until_it_expires():
    """Another object of that name knows of it too; other models and rungs are not concerned, and after the time it is over."""
    refusals.remember(ScriptedModel([], name="a"), "native")

    await anyio.sleep(refusals.REMEMBERED - 1)
    assert refusals.holds(ScriptedModel([], name="a"), "native")
    assert not refusals.holds(ScriptedModel([], name="a"), "json")
    assert not refusals.holds(ScriptedModel([], name="b"), "native")

    await anyio.sleep(2)
    assert not refusals.holds(ScriptedModel([], name="a"), "native")
