"""Values of kinds: frozen like all values here, and in JSON with the name of their kind."""

import re

from msgspec import Struct


def _in_words(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


class Tagged(Struct, frozen=True, kw_only=True, tag_field="kind", tag=_in_words):
    """One of several kinds of the same thing. `kind` is the name of the class in small letters: of `StepEnded`, `step_ended`."""

    @property
    def kind(self) -> str:
        """Which kind it is, as JSON says it."""
        return kind_of(type(self))


def kind_of(kind: type[Struct]) -> str:
    """What JSON calls the values of a class."""
    tag = kind.__struct_config__.tag
    assert isinstance(tag, str), f"{kind.__name__} has no name in JSON"
    return tag
