"""A layer looks like the model inside."""

from registry.http import HttpDoor
from registry.models.layer import ModelLayer
from registry.models.model import Model
from registry.openai import OpenAIModel
from registry.testing import Delay, FaultyModel, ScriptedModel


def test_a_layer_shows_what_is_inside():
    """Name, endpoint, abilities and window pass through."""
    layer = ModelLayer(ScriptedModel([], name="m", endpoint="https://x", abilities={"json_mode": True}, context_window=100))

    assert ("m", "https://x") == (layer.name, layer.endpoint)
    assert ({"json_mode": True}, 100) == (layer.abilities, layer.context_window)


class Waits(ModelLayer):
    """Minds no deadline."""

    def __init__(self, inner: Model) -> None:
        super().__init__(inner)
        self.punctual = False


def test_a_layer_is_as_punctual_as_what_is_inside():
    """Deadlines are kept below where the model says so; not where it says nothing, nor where a layer between says otherwise."""
    model = OpenAIModel("x:m", model="m", base_url="https://x", api_key=None, door=HttpDoor())

    assert ModelLayer(ModelLayer(model)).punctual
    assert not ModelLayer(Waits(model)).punctual
    assert not ModelLayer(FaultyModel(model, [Delay(7)])).punctual
    assert not ModelLayer(ScriptedModel([])).punctual
