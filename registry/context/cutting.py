"""Shorter texts, each with a mark that says what is gone and, where it is kept under a handle, how to read it."""

from collections.abc import Sequence

from registry.context.estimating import estimate_tokens

READ_RESULT = "read_result"
"""The tool by which a model reads what a handle stands for."""

LONGEST_RESULT = 16_000
"""Characters of a result up to which a model reads it whole."""

PREVIEW = 4_000
"""Characters from the start of a longer one that it reads at once."""

PREVIEW_END = 500
"""And from its end."""


def cut(text: str, limit_chars: int, *, handle: str = "") -> str:
    """The first `limit_chars` characters of `text`, with a mark that says how many more there were."""
    if len(text) <= limit_chars:
        return text
    kept = max(0, limit_chars)
    whole = f'; {READ_RESULT}("{handle}") has the whole' if handle else ""
    return f"{text[:kept]}[… {len(text) - kept} characters cut{whole}]"


def previewed(text: str, handle: str) -> str:
    """The start and a little of the end of a text that is kept under a handle."""
    left_out = len(text) - PREVIEW - PREVIEW_END
    if left_out <= 0:
        return text
    mark = f'[… {left_out} of {len(text)} characters left out here; {READ_RESULT}("{handle}", offset={PREVIEW}) reads on]'
    return f"{text[:PREVIEW]}\n{mark}\n{text[-PREVIEW_END:]}"


def fit_texts(texts: Sequence[str], budget_tokens: int, handles: Sequence[str] = ()) -> list[str]:
    """The texts, together within `budget_tokens`: small ones whole, large ones cut to equal shares of what is left.

    Where a share is too small for even the mark of a cut, that text becomes empty. `handles` are the texts' own, "" for none.
    """
    fitted = list(texts)
    if sum(map(estimate_tokens, texts)) <= budget_tokens:
        return fitted
    named = handles or [""] * len(texts)
    left = max(0, budget_tokens)
    by_size = sorted(range(len(texts)), key=lambda at: estimate_tokens(texts[at]))
    for nth, at in enumerate(by_size):
        fitted[at] = cut_to_tokens(texts[at], left // (len(texts) - nth), handle=named[at])
        left -= estimate_tokens(fitted[at])
    return fitted


def cut_to_tokens(text: str, tokens: int, *, handle: str = "") -> str:
    """As much of `text` as fits, its mark included; nothing where not even that does."""
    if estimate_tokens(text) <= tokens:
        return text
    low, high = -1, min(len(text), 3 * tokens)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(cut(text, middle, handle=handle)) <= tokens:
            low = middle
        else:
            high = middle - 1
    if low >= 0:
        return cut(text, low, handle=handle)
    return cut_to_tokens(text, tokens) if handle else ""
