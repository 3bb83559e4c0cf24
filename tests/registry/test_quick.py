"""Frozen values that are built in half the time."""

from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from registry.calls import Call, quick_call
from registry.quick import quick


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A value with defaults of every kind."""

    text: str
    times: int = 1
    notes: list[str] = field(default_factory=list)
    kind: str = "word"


quick_word = quick(Word)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"text": "so"}, id="defaults"),
        pytest.param({"text": "so", "times": 2, "notes": ["x"], "kind": "other"}, id="everything"),
    ],
)
def test_the_same_value(given: dict[str, object]) -> None:
    """It is equal to the value that was built in the usual way, of the same class, and as good to go on from."""
    made, usual = quick_word(**given), Word(**given)

    assert (usual, Word, repr(usual)) == (made, type(made), repr(made))
    assert replace(usual, text="else") == replace(made, text="else")


def test_it_never_changes() -> None:
    """It is as frozen as any other, and has a list of its own where the default is one."""
    made = quick_word(text="so")

    with pytest.raises(FrozenInstanceError):
        made.text = "else"  # type: ignore[misc]
    assert made.notes is not quick_word(text="so").notes


def test_what_is_missing_or_unknown() -> None:
    """Arguments are held against the fields, as ever."""
    for given in ({}, {"text": "so", "other": 1}):
        with pytest.raises(TypeError):
            quick_word(**given)


def test_a_call_under_another_key() -> None:
    """All that a call says stays, whatever fields there are."""
    said = {each.name: object() for each in fields(Call)}
    call = quick_call(**said).under("k")

    assert said | {"key": "k"} == {name: getattr(call, name) for name in said}
