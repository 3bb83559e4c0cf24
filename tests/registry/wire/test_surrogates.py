"""Half characters are joined or replaced."""

import pytest

from registry.wire.surrogates import encoded, ends_in_half, mended


@pytest.mark.parametrize(
    ("text", "right"),
    [
        pytest.param("plain", "plain", id="ascii"),
        pytest.param("né 🙂", "né 🙂", id="whole"),
        pytest.param("a\ud83d\ude42b", "a🙂b", id="two halves"),
        pytest.param("a\ud83db", "a\ufffdb", id="lone first half"),
        pytest.param("\ude42", "\ufffd", id="lone second half"),
    ],
)
def test_mended(text: str, right: str) -> None:
    """Matching halves become one character, lone ones the replacement mark, and all else stays."""
    assert right == mended(text)


def test_ends_in_half() -> None:
    """Only a first half at the very end waits for more."""
    assert ends_in_half("a\ud83d")
    assert not ends_in_half("a\ude42")
    assert not ends_in_half("\ud83da")
    assert not ends_in_half("")


def test_encoded() -> None:
    """Values become JSON in UTF-8, with half characters mended however deep they lie, and whole numbers as large as they are."""
    assert '{"a":["né",1]}'.encode() == encoded({"a": ["né", 1]})
    assert '{"a":["\ufffd",{"b":"🙂"}],"n":null}'.encode() == encoded({"a": ["\ud83d", {"b": "\ud83d\ude42"}], "n": None})
    assert '{"\ufffd":[100000000000000000000,null,"né"]}'.encode() == encoded({"\ud83d": [10**20, float("inf"), "né"]})
