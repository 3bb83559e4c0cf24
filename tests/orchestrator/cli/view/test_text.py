"""Text that reaches a terminal."""

from decimal import Decimal

import pytest

from orchestrator.cli.view.text import (
    cost_told,
    counted,
    dollars_told,
    harmless,
    in_full,
    listed,
    one_line,
    seconds_told,
    table,
    tokens_told,
)
from registry.usage import UNMETERED, Usage


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
    ("amount", "exact", "expected"),
    [
        pytest.param("1234.5", True, "$1,234.50", id="thousands"),
        pytest.param("1", True, "$1.00", id="a dollar"),
        pytest.param("0.01236", True, "$0.0124", id="cents"),
        pytest.param("0.5", True, "$0.5000", id="half a dollar"),
        pytest.param("0.000025", True, "$0.000025", id="next to nothing"),
        pytest.param("1E-7", True, "$0.00000010", id="less than that"),
        pytest.param("0.00", True, "$0.00", id="nothing"),
        pytest.param("0.01236", False, "at least $0.0123", id="a lower bound"),
        pytest.param("1.999", False, "at least $1.99", id="a lower bound of dollars"),
    ],
)
def test_money_is_told_for_people(amount: str, exact: bool, expected: str) -> None:
    """As many digits as matter; a lower bound stays one."""
    assert expected == dollars_told(Decimal(amount), exact=exact)


PAID = Usage(requests=1, cost=Decimal("0.25"), priced=1)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        pytest.param(PAID, "$0.2500", id="known"),
        pytest.param(PAID + UNMETERED, "at least $0.2500", id="some unknown"),
        pytest.param(UNMETERED, "cost unknown", id="unknown"),
        pytest.param(UNMETERED + Usage(requests=1, priced=1), "cost unknown", id="unknown but for what was free"),
        pytest.param(Usage(requests=1, priced=1), "", id="free"),
        pytest.param(Usage(), "", id="no request"),
    ],
)
def test_costs_say_when_they_are_unknown(usage: Usage, expected: str) -> None:
    """A sum in which a request is unpriced is "at least", and never zero; of what was free nothing is said."""
    assert expected == cost_told(usage)


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("plain, ünï, 漢字\n\tand more", "plain, ünï, 漢字\n\tand more", id="text stays"),
        pytest.param("a\x1b[8mb\rc\x9bd", r"a\x1b[8mb\rc\x9bd", id="what steers a terminal"),
        pytest.param("a\u202eb", r"a\u202eb", id="what turns text around"),
        pytest.param("a\ud800b", r"a\ud800b", id="what is no text"),
    ],
)
def test_nothing_of_a_text_in_full_is_dropped(text: str, expected: str) -> None:
    """What can't be shown is spelled out."""
    assert expected == in_full(text)


def test_cells_stand_below_each_other() -> None:
    """And a line that is too long is cut."""
    rows = [("a", "bb", "c"), ("aaa", "", "cccc"), ("a", "b", "")]

    assert ["a    bb  c", "aaa      cccc", "a    b"] == table(rows)
    assert ["a    bb  c", "aaa      …", "a    b"] == table(rows, width=10)
    assert [] == table([])
