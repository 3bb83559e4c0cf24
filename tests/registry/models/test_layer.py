"""A layer looks like the model inside."""

from registry.models.layer import ModelLayer
from registry.testing import ScriptedModel


def test_a_layer_shows_what_is_inside():
    """Name, abilities and window pass through."""
    layer = ModelLayer(ScriptedModel([], name="m", abilities={"json_mode": True}, context_window=100))

    assert ("m", {"json_mode": True}, 100) == (layer.name, layer.abilities, layer.context_window)
