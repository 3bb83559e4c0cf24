"""Diagnostics."""

import pytest

from planner.diagnostics import CODES, error, pointer, repaired


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param((), "", id="the whole"),
        pytest.param(("steps", 2, "depends_on", 0), "/steps/2/depends_on/0", id="names and positions"),
        pytest.param(("inputs", "a/b~c"), "/inputs/a~1b~0c", id="escaped"),
    ],
)
def test_pointer(parts, expected):
    """A place is a JSON pointer."""
    assert expected == pointer(*parts)


def test_sentence():
    """A finding reads as one line: code, severity, place, what, and what to do."""
    assert "P004 error at /steps/0: bad (mend it)" == str(error("P004", "/steps/0", "bad", fix="mend it"))
    assert "P004 repair: mended" == str(repaired("P004", "", "mended"))


def test_codes():
    """Codes are numbered without gaps, so none was taken away or used twice."""
    assert [f"P{number:03}" for number in range(1, len(CODES) + 1)] == list(CODES)
