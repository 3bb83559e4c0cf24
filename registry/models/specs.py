"""A model as settings describe it, before anything is connected."""

from msgspec import Struct, field
from pydantic import SecretStr

from registry.models.model import Abilities
from registry.models.names import ModelName
from registry.models.prices import Price


class ModelSpec(Struct, frozen=True, kw_only=True):
    """One model to connect.

    `name` is what hints call it, the provider's and model's by default. `base_url` and `api_key` are None for the provider's
    own. `abilities` and `context_window` (tokens) override what is known of the model. `max_concurrency` is how many requests
    it takes at a time, None for the default of its endpoint's kind. `requests_per_minute` and `tokens_per_minute` bound
    them, None to go by what the endpoint says alone. `max_output` and `thinking` are tokens, for those providers
    that take them. `price` is the user's own, None for the published one; `price_as` is the name that it is looked up or was
    found under, None for the model's own.
    """

    provider: str
    model: str = ""
    base_url: str | None = None
    api_key: SecretStr | None = None
    abilities: Abilities = field(default_factory=dict)
    context_window: int | None = None
    max_concurrency: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    max_output: int | None = None
    thinking: int | None = None
    price: Price | None = None
    price_as: ModelName | None = None

    @property
    def name(self) -> str:
        """How users name it, `provider:model`."""
        return str(ModelName(self.provider, self.model))
