"""The models that a run may use, by name and by role."""

from collections.abc import Callable, Iterable, Mapping
from copy import copy

from registry.errors import ConfigurationError, UnknownModel, there_are
from registry.models.model import Model

GENERAL = "general"

ROLES = ("planning", GENERAL, "fast", "reasoning", "synthesis", "compaction")
"""The roles that the engine asks for. Users may have more of their own."""


class ModelRegistry:
    """Finds a model by a hint: a role or a model's name.

    `models` is one model, several, or a mapping of roles to models. `roles` maps roles to model names. A role of `ROLES` that
    nobody plays is played by `general`, and `general` by the first model. Raises `ConfigurationError` for no models, for two
    of one name in a list, and for a role that points at no model.
    """

    def __init__(self, models: Model | Iterable[Model] | Mapping[str, Model], roles: Mapping[str, str] | None = None) -> None:
        cast = dict(models) if isinstance(models, Mapping) else {}
        self._models = _by_name(cast.values()) if cast else _by_unique_name(_each(models))
        cast |= {role: self._named(role, name) for role, name in (roles or {}).items()}
        general = cast.get(GENERAL, self.models[0])
        self._roles = {**dict.fromkeys(ROLES, general), **cast}

    @property
    def models(self) -> tuple[Model, ...]:
        return tuple(self._models.values())

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._models)

    @property
    def roles(self) -> Mapping[str, str]:
        """The model's name for every role."""
        return {role: model.name for role, model in self._roles.items()}

    @property
    def hints(self) -> tuple[str, ...]:
        """All that `model` accepts."""
        return tuple(dict.fromkeys((*self._roles, *self._models)))

    @property
    def by_hint(self) -> Mapping[str, Model]:
        """The model of each of `hints`."""
        return {hint: self.model(hint) for hint in self.hints}

    def model(self, hint: str | None = None) -> Model:
        """The model of this role or name; None means `general`. Raises `UnknownModel`."""
        wanted = GENERAL if hint is None else hint
        found = self._roles.get(wanted) or self._models.get(wanted)
        if found is None:
            raise UnknownModel(wanted, self.hints)
        return found

    def through(self, layer: Callable[[Model], Model]) -> "ModelRegistry":
        """The same models in the same roles, each with this around it."""
        around = {id(model): layer(model) for model in (*self._models.values(), *self._roles.values())}
        other = copy(self)
        other._models = {name: around[id(model)] for name, model in self._models.items()}
        other._roles = {role: around[id(model)] for role, model in self._roles.items()}
        return other

    def _named(self, role: str, name: str) -> Model:
        if name not in self._models:
            raise ConfigurationError(f"the role {role!r} points at {name!r}; {there_are(name, self._models)}")
        return self._models[name]


def _each(models: Model | Iterable[Model] | Mapping[str, Model]) -> tuple[Model, ...]:
    if isinstance(models, Mapping):
        return tuple(models.values())
    return tuple(models) if isinstance(models, Iterable) else (models,)


def _by_unique_name(models: tuple[Model, ...]) -> dict[str, Model]:
    found = _by_name(models)
    if len(found) < len(models):
        raise ConfigurationError(f"two models share a name; give each its own: {', '.join(model.name for model in models)}")
    return found


def _by_name(models: Iterable[Model]) -> dict[str, Model]:
    found: dict[str, Model] = {}
    for model in models:
        found.setdefault(model.name, model)
    if not found:
        raise ConfigurationError("there is no model; name at least one")
    return found
