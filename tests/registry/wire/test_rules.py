"""The rows of provider quirks."""

import pytest

from registry.wire.rules import COMPATIBLE, LLAMA_CPP, OPENAI, WireRules


@pytest.mark.parametrize("rules", [pytest.param(row, id=row.name) for row in (OPENAI, LLAMA_CPP, COMPATIBLE)])
def test_rows_serve_as_cache_keys(rules: WireRules) -> None:
    """A row equals itself only, so that wire forms are cached by row and never shared between two."""
    assert rules == rules  # noqa: PLR0124
    assert rules != WireRules(name=rules.name)
    assert hash(rules) == object.__hash__(rules)
