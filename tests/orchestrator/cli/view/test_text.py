"""Text that reaches a terminal."""

import pytest

from orchestrator.cli.view.text import counted, harmless, listed, one_line, seconds_told, tokens_told


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("plain, ünï, 漢字, 😀", "plain, ünï, 漢字, 😀", id="plain"),
        pytest.param("a\n\tb", "a\n\tb", id="newline and tab stay"),
        pytest.param("a\r\nb", "a\nb", id="carriage return"),
        pytest.param("\x1b[1;31mred\x1b[0m", "red", id="colour"),
        pytest.param("\x1b[2J\x1b[Hgone", "gone", id="clear the screen"),
        pytest.param("\x1b[?1049hx", "x", id="private mode"),
        pytest.param("\x9b31mred", "red", id="colour of one byte"),
        pytest.param("\x1b]0;title\x07x", "x", id="title ended by a bell"),
        pytest.param("\x1b]52;c;aGk=\x1b\\x", "x", id="clipboard ended by a terminator"),
        pytest.param("\x9d0;title\x9cx", "x", id="title of one byte"),
        pytest.param("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link", id="link"),
        pytest.param("\x1bPq#0\x1b\\x", "x", id="device string"),
        pytest.param("\x1bcreset", "reset", id="reset"),
        pytest.param("\x1b(0x", "x", id="character set"),
        pytest.param("\x1b]never ended", "never ended", id="unended title loses nothing but its start"),
        pytest.param("end\x1b", "end", id="escape at the end"),
        pytest.param("a\x00\x08\x7f\x85b", "ab", id="single controls"),
        pytest.param("a\ud800b", "ab", id="lone surrogate"),
        pytest.param("[31m", "[31m", id="brackets are text"),
    ],
)
def test_text_can_not_steer_the_terminal(text: str, expected: str) -> None:
    """Control characters and whole sequences go; everything that is text stays."""
    assert expected == harmless(text)


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        pytest.param("  a\n\n b\tc  ", None, "a b c", id="folded"),
        pytest.param("a\rb\x85c\u2028d\x0be", None, "a b c d e", id="every kind of line end"),
        pytest.param("a\x1b[2K\nb", None, "a b", id="sequences go first"),
        pytest.param("abc\u202edef\u2066", None, "abcdef", id="no reordering of the line"),
        pytest.param("abcdef", 6, "abcdef", id="fits"),
        pytest.param("abcdefg", 6, "abcde…", id="cut"),
        pytest.param("", 6, "", id="empty"),
    ],
)
def test_text_becomes_one_line(text: str, limit: int | None, expected: str) -> None:
    """Whatever is in the text, it takes one line, of the given length at most."""
    assert expected == one_line(text, limit=limit)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(0.0, "0.0 s", id="none"),
        pytest.param(3.24, "3.2 s", id="seconds"),
        pytest.param(59.94, "59.9 s", id="nearly a minute"),
        pytest.param(59.96, "1 min 00 s", id="a minute when rounded"),
        pytest.param(125.2, "2 min 05 s", id="minutes"),
        pytest.param(3599.7, "1 h 00 min", id="an hour when rounded"),
        pytest.param(3725.0, "1 h 02 min", id="hours"),
    ],
)
def test_seconds_are_told_for_people(seconds: float, expected: str) -> None:
    """Durations are as precise as a person wants them."""
    assert expected == seconds_told(seconds)


@pytest.mark.parametrize(
    ("tokens", "exact", "expected"),
    [
        pytest.param(1234, True, "1,234 tokens", id="exact"),
        pytest.param(0, True, "0 tokens", id="none"),
        pytest.param(1234, False, "at least 1,234 tokens", id="lower bound"),
        pytest.param(0, False, "tokens not reported", id="unknown is not zero"),
    ],
)
def test_tokens_say_when_they_are_a_lower_bound(tokens: int, exact: bool, expected: str) -> None:
    """A sum in which a request is unmetered is "at least", and never zero."""
    assert expected == tokens_told(tokens, exact=exact)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param([], "", id="none"),
        pytest.param(["a", "b"], "a, b", id="few"),
        pytest.param(["a", "b", "c", "d"], "a, b, c and 1 more", id="more than fit"),
        pytest.param(["x" * 40, "b\n"], "x" * 31 + "…, b", id="long and broken"),
    ],
)
def test_names_are_listed_in_one_line(names: list[str], expected: str) -> None:
    """A list of names stays short, however many and long they are."""
    assert expected == listed(names, most=3)


@pytest.mark.parametrize(("number", "expected"), [(0, "0 steps"), (1, "1 step"), (1200, "1,200 steps")])
def test_one_is_singular(number: int, expected: str) -> None:
    """Counts agree with their noun."""
    assert expected == counted(number, "step")
