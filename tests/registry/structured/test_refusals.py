"""What was refused is remembered for a while, by endpoint and model."""

import anyio
import pytest

from registry.errors import Refused
from registry.structured import refusals
from registry.testing import ScriptedModel

pytestmark = pytest.mark.anyio


def at(endpoint: str, name: str) -> ScriptedModel:
    return ScriptedModel([], name=name, endpoint=endpoint)


async def test_a_refusal_holds_for_its_endpoint_model_and_rung_until_it_expires():
    """Another object of that model knows of it too; nothing else is concerned, and after the time it is over."""
    refusals.remember(at("x", "a"), "native", Refused("x", "no tools"))

    await anyio.sleep(refusals.REMEMBERED - 1)
    assert refusals.holds(at("x", "a"), "native")
    assert not refusals.holds(at("x", "a"), "json")
    assert not refusals.holds(at("x", "b"), "native")
    assert not refusals.holds(at("y", "a"), "native")

    await anyio.sleep(2)
    assert not refusals.holds(at("x", "a"), "native")


async def test_a_refusal_is_blamed_on_the_model_that_it_names():
    """Where several go by one name, the one that refused is the one that is spared."""
    refusal = Refused("y", "no tools")
    refusal.model = "b"

    refusals.remember(at("x", "a"), "native", refusal)

    assert refusals.holds(at("y", "b"), "native")
    assert not refusals.holds(at("x", "a"), "native")
