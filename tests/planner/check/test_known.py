"""What a run has."""

from planner.check.known import Known
from registry.builtin.calculator import calculator
from registry.models.registry import ModelRegistry
from registry.testing import ScriptedModel


def test_of_a_run():
    """Tools go by their names, and hints are what there are models for."""
    models = ModelRegistry(ScriptedModel([]))

    known = Known.of([calculator], {hint: models.model(hint) for hint in models.hints}, {"city": "Graz"})

    assert (frozenset({"calculator"}), frozenset(models.hints), {"city": "Graz"}) == (known.tools, known.hints, known.inputs)
    assert (calculator.spec, calculator.traits) == (known.specs["calculator"], known.traits["calculator"])
    assert models.model("fast") == known.models["fast"]
