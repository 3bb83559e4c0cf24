"""Where values came from."""

import pytest

from registry.origins import TRUSTED, Origins, joined


@pytest.mark.parametrize(
    ("origins", "met"),
    [
        pytest.param((), TRUSTED, id="nothing"),
        pytest.param((TRUSTED, TRUSTED), TRUSTED, id="trusted stays trusted"),
        pytest.param((("tool:b",), TRUSTED), ("tool:b",), id="one source"),
        pytest.param((("tool:b",), ("tool:a", "tool:b")), ("tool:a", "tool:b"), id="sorted, each once"),
    ],
)
def test_origins_only_grow(origins: tuple[Origins, ...], met: Origins) -> None:
    """A value made of others has all their origins; nothing takes one away."""
    assert met == joined(*origins)
