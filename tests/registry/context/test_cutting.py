"""A text that is cut says so, and how to read the rest where it is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.context import cut, estimate_tokens, fit_texts, previewed
from registry.context.cutting import PREVIEW, PREVIEW_END


@pytest.mark.parametrize(
    ("text", "limit", "handle", "kept"),
    [
        pytest.param("short", 5, "", "short", id="whole"),
        pytest.param("too long", 3, "", "too[… 5 characters cut]", id="cut"),
        pytest.param("x", 0, "", "[… 1 characters cut]", id="nothing-left"),
        pytest.param("too long", 3, "h-1", 'too[… 5 characters cut; read_result("h-1") has the whole]', id="kept-elsewhere"),
    ],
)
def test_a_cut_is_visible(text: str, limit: int, handle: str, kept: str) -> None:
    """A text over the limit keeps its beginning, and a mark says how much is gone and where it is."""
    assert kept == cut(text, limit, handle=handle)


def test_a_preview_shows_both_ends() -> None:
    """The start and a little of the end, and between them what is left out and how to read on from there."""
    text = "".join(f"{n:09d}\n" for n in range(2_000))

    seen = previewed(text, "look-1")

    assert text.startswith(seen[:PREVIEW])
    assert text.endswith(seen[-PREVIEW_END:])
    mark = '\n[… 15500 of 20000 characters left out here; read_result("look-1", offset=4000) reads on]\n'
    assert mark == seen[PREVIEW:-PREVIEW_END]


def test_what_is_no_longer_than_its_preview_stays() -> None:
    """Nothing is left out of a text that the two ends make up."""
    assert "x" * 4_500 == previewed("x" * 4_500, "look-1")


def test_small_texts_stay_whole_and_large_ones_share() -> None:
    """Each text gets a fair share, whatever its place; what small ones leave goes to the large ones."""
    texts = ["a" * 9_000, "tiny", "b" * 9_000]

    first, tiny, last = fit_texts(texts, 1_000, ["h-1", "", ""])

    assert "tiny" == tiny
    assert first.startswith("a" * 1_400)
    assert last.startswith("b" * 1_400)
    assert first.endswith('characters cut; read_result("h-1") has the whole]')
    assert last.endswith("characters cut]")


def test_a_mark_without_the_handle_is_better_than_none() -> None:
    """Where there is no room to say how to read the rest, the cut is visible all the same."""
    (text,) = fit_texts(["x" * 900], 12, ["a-very-long-handle-that-takes-more"])

    assert text.endswith("characters cut]")


@given(st.lists(st.text(max_size=200), max_size=8), st.integers(0, 300), st.booleans())
def test_texts_fit_their_budget(texts: list[str], budget: int, named: bool) -> None:
    """Together the texts never exceed the budget, and none is lost or longer than it was."""
    fitted = fit_texts(texts, budget, ["look-0123456789"] * len(texts) if named else ())

    assert len(texts) == len(fitted)
    assert sum(map(estimate_tokens, fitted)) <= budget or fitted == texts
