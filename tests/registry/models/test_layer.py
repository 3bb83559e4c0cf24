"""A layer looks like the model inside."""

from registry.models.layer import ModelLayer
from registry.testing import ScriptedModel


def test_a_layer_shows_what_is_inside():
    """Name, endpoint, abilities and window pass through."""
    layer = ModelLayer(ScriptedModel([], name="m", endpoint="https://x", abilities={"json_mode": True}, context_window=100))

    assert ("m", "https://x") == (layer.name, layer.endpoint)
    assert ({"json_mode": True}, 100) == (layer.abilities, layer.context_window)
