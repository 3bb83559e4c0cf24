"""What every model around a model shares: it looks like the one inside."""

from registry.models.model import Abilities, Model


class ModelLayer:
    """Base of the layers between us and the wire. A layer adds `chat` and `stream_chat`.

    `punctual` tells the layers above that a call's deadline is kept below, so that they need not bound the wait. It is what the
    inner model says of itself, False where it says nothing; a layer that waits without minding the deadline sets it to False.
    """

    def __init__(self, inner: Model) -> None:
        self._inner = inner
        self.punctual: bool = getattr(inner, "punctual", False)

    @property
    def inner(self) -> Model:
        """The model that this one is around."""
        return self._inner

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def endpoint(self) -> str:
        return self._inner.endpoint

    @property
    def abilities(self) -> Abilities:
        return self._inner.abilities

    @property
    def context_window(self) -> int | None:
        return self._inner.context_window
