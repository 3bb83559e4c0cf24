"""Rooms with so many places."""

from orchestrator.widths import Widths


def test_who_finds_no_place_stands_in_line() -> None:
    """Whoever leaves lets the first in line in; a place is taken once."""
    widths = Widths()
    widths.limit("abcd", 2)

    assert [True, True, False, False, True] == [widths.enter(part) for part in "abcda"]
    assert ["c", "d", None] == [widths.leave(part) for part in "abc"]


def test_who_leaves_the_line_gives_up_no_place() -> None:
    """A part that will not run makes no room for another."""
    widths = Widths()
    widths.limit("abc", 1)
    assert [True, False, False] == [widths.enter(part) for part in "abc"]

    assert widths.leave("b") is None
    assert "c" == widths.leave("a")


def test_without_a_limit_there_is_room() -> None:
    """For what belongs to no room, and for that of others."""
    widths = Widths()
    widths.limit("a", 1)
    widths.limit("b", 1)

    assert [True, True, True] == [widths.enter(part) for part in "abz"]
    assert widths.leave("z") is None
