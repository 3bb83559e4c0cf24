"""What was refused is remembered for a while, model by model."""

from registry.structured.refusals import REMEMBERED, Refusals
from registry.testing import ScriptedModel


def test_a_refusal_holds_for_its_model_and_rung_until_it_expires():
    """Other models and other rungs are not concerned, and after the time it is over."""
    refusals, model = Refusals(), ScriptedModel([])

    refusals.remember(model, "native", 100.0)

    assert refusals.holds(model, "native", 100.0 + REMEMBERED - 1)
    assert not refusals.holds(model, "native", 100.0 + REMEMBERED)
    assert not refusals.holds(model, "json", 101.0)
    assert not refusals.holds(ScriptedModel([]), "native", 101.0)
