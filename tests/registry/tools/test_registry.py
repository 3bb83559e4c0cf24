"""Sets of tools."""

import pytest

from registry.errors import ConfigurationError, UnknownTool
from registry.tools.function import tool
from registry.tools.registry import ToolRegistry


@tool
def search() -> None: ...


@tool
def fetch() -> None: ...


def plain() -> None: ...


TOOLS = ToolRegistry([search, fetch, plain])


def test_keeps_the_order_given() -> None:
    """Names, specs and tools come in the order in which the tools were given."""
    assert ("search", "fetch", "plain") == TOOLS.names == tuple(spec.name for spec in TOOLS.specs)
    assert [search, fetch] == list(TOOLS)[:2]
    assert (len(TOOLS), "fetch" in TOOLS, "fetsh" in TOOLS) == (3, True, False)


def test_near_miss_is_suggested_not_run() -> None:
    """An unknown name is answered with the nearest one and all that there are."""
    with pytest.raises(UnknownTool, match=r"no tool named 'serch'; did you mean 'search'\? there are: fetch, plain, search"):
        TOOLS.get("serch")


def test_long_names_are_cut_in_the_error() -> None:
    """A model that writes its arguments into the name does not get them all back."""
    with pytest.raises(UnknownTool) as raised:
        TOOLS.get("x" * 10_000)

    assert len(str(raised.value)) < 200


def test_only_filters() -> None:
    """A filtered registry keeps its order and refuses what it never had."""
    assert TOOLS.only(["plain", "search", "search"]).names == ("search", "plain")
    with pytest.raises(UnknownTool, match="'grep'"):
        TOOLS.only(["search", "grep"])


def test_with_tools_makes_another() -> None:
    """Adding leaves the first one as it was."""
    more = TOOLS.with_tools(tool(name="extra")(lambda: None))

    assert (len(more), len(TOOLS)) == (4, 3)
    assert ToolRegistry().names == ()


def test_how_many_calls_go_side_by_side() -> None:
    """It is said of a set of tools, holds for all that are made of it, and is at least one."""
    narrow = TOOLS.with_width(2)

    assert (16, 2) == (TOOLS.width, narrow.width)
    assert [(2, 1), (2, 4)] == [
        (each.width, len(each)) for each in (narrow.only(["plain"]), narrow.with_tools(tool(name="e")(plain)))
    ]
    with pytest.raises(ConfigurationError, match="0 calls can't go side by side"):
        TOOLS.with_width(0)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, id=ascii(name)[:20]) for name in ("calendar.create", "files/read", "Scan Dockerfile", "é", "x" * 128)],
)
def test_any_name_that_can_be_printed(name: str) -> None:
    """A tool is named as its maker likes, and found by that."""
    tools = ToolRegistry([tool(name=name)(lambda: None)])

    assert (name,) == tools.names
    assert name == tools.get(name).spec.name


def test_prefixes_make_no_difference() -> None:
    """The prefixes that models put before names are seen through, unless there is a tool of exactly that name."""
    dotted, plain = (tool(name=name)(lambda: None) for name in ("functions.x", "x"))
    one, both = ToolRegistry([dotted]), ToolRegistry([plain, dotted])

    assert [dotted] * 3 == [one.get(name) for name in ("functions.x", "x", "tool.x")]
    assert [dotted, plain, plain] == [both.get(name) for name in ("functions.x", "x", "tool.x")]
    assert (True, True, False, False) == ("x" in one, "tools.search" in TOOLS, "my.search" in TOOLS, 7 in TOOLS)
    assert [dotted] == list(both.only(["functions.x"]))
    assert ["functions.x", "y"] == [one.meant(name) for name in ("x", "functions.y")]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, id=ascii(name)[:20]) for name in ("", " ", "a ", "x" * 129, "a\n", "\x00", "\u200b", "\ud800", "\u2028")],
)
def test_bad_names_are_refused(name: str) -> None:
    """A name that nobody can read or write is said at once."""
    function = lambda: None  # noqa: E731
    function.__name__ = name

    with pytest.raises(ConfigurationError, match="can't be named"):
        ToolRegistry([function])


def test_duplicates_are_refused() -> None:
    """One name, one tool."""
    with pytest.raises(ConfigurationError, match="two tools are named 'search'"):
        ToolRegistry([search, search])
