"""How users name a model: `provider:model`."""

import re

from msgspec import Struct

from registry.errors import ConfigurationError

_PROVIDER = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_ADDRESSES = ("http://", "https://")


class ModelName(Struct, frozen=True):
    """A provider (`openai`, `local`, ...) or an endpoint's address, and the name that it knows the model by.

    `model` is empty where the provider has a default, as in `local`.
    """

    provider: str
    model: str = ""

    def __str__(self) -> str:
        if not self.model:
            return self.provider
        return f"{self.provider}{'#' if self.is_address else ':'}{self.model}"

    @property
    def is_address(self) -> bool:
        """Whether `provider` is the base URL of an endpoint."""
        return self.provider.startswith(_ADDRESSES)


def parse_model_name(text: str) -> ModelName:
    """The name in `openai:gpt-4o`, `ollama:llama3.2:1b`, `local` or `http://host:8080/v1#model`.

    Only the first colon divides: a model's own name may hold more. Raises `ConfigurationError`.
    """
    text = text.strip()
    if text.lower().startswith(_ADDRESSES):
        address, _, model = text.partition("#")
        return ModelName(address.rstrip("/"), model)
    provider, colon, model = text.partition(":")
    if not _PROVIDER.fullmatch(provider) or (colon and not model.strip()):
        raise ConfigurationError(f"{text!r} names no model; write provider:model, such as openai:gpt-4o, or local")
    return ModelName(provider.lower(), model.strip())
