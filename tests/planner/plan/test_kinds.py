"""The steps that are one thing."""

import pytest

from tests.planner.drafts import step


@pytest.mark.parametrize(
    ("fields", "hints"),
    [
        pytest.param({}, (None,), id="the role general"),
        pytest.param({"model_hint": "m"}, ("m",), id="a hint"),
        pytest.param({"escalate": ("fast", "general")}, ("fast", "general"), id="escalate"),
        pytest.param({"model_hint": "m", "escalate": ("fast", "m", "big")}, ("m", "fast", "big"), id="a hint that escalates"),
    ],
)
def test_models_take_turns(fields: dict[str, object], hints: tuple[str | None, ...]) -> None:
    """The hint's first, then those of `escalate`, each once."""
    assert hints == step("a", **fields).hints
