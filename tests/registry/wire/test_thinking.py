"""A leading think block is parted from the text, whole or piece by piece."""

import pytest

from registry.messages import ReasoningPiece, TextPiece
from registry.wire.thinking import ThinkSplitter, split_thinking

CASES = [
    pytest.param("<think>a b</think>c", False, ("a b", "c"), id="block"),
    pytest.param("\n <think>\na\n</think>\n\nc\n", False, ("a", "c\n"), id="white space around"),
    pytest.param("<think></think>c", False, ("", "c"), id="empty block"),
    pytest.param("<think>a</think>", False, ("a", ""), id="nothing after"),
    pytest.param("<think>a < b </thin </think>c</think>", False, ("a < b </thin", "c</think>"), id="near misses"),
    pytest.param("Use <think>x</think> so.", False, ("", "Use <think>x</think> so."), id="mid-sentence"),
    pytest.param("a</think>b", False, ("", "a</think>b"), id="stray end"),
    pytest.param("<thin air", False, ("", "<thin air"), id="another word"),
    pytest.param("<th", False, ("", "<th"), id="beginning only"),
    pytest.param("  ", False, ("", "  "), id="white space only"),
    pytest.param("", False, ("", ""), id="nothing"),
    pytest.param("<think>is a tag, he said</th", False, ("", "<think>is a tag, he said</th"), id="never closed"),
    pytest.param("<think>long thou", True, ("long thou", ""), id="cut off while thinking"),
]


@pytest.mark.parametrize(("text", "cut_off", "parts"), CASES)
def test_split(text: str, cut_off: bool, parts: tuple[str, str]) -> None:
    """Only a block at the very beginning is thinking."""
    assert parts == split_thinking(text, cut_off=cut_off)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize(("text", "cut_off", "parts"), CASES)
def test_pieces_add_up(text: str, cut_off: bool, parts: tuple[str, str], size: int) -> None:
    """However the text is cut, the text pieces add up to the text, and a closed block's pieces to the reasoning."""
    splitter = ThinkSplitter()

    pieces = [piece for at in range(0, len(text), size) for piece in splitter.feed(text[at : at + size])]
    pieces += splitter.end(cut_off=cut_off)

    assert parts == (splitter.reasoning, splitter.text)
    assert parts[1] == "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
    if parts[0]:
        assert parts[0] == "".join(piece.text for piece in pieces if isinstance(piece, ReasoningPiece)).strip()
