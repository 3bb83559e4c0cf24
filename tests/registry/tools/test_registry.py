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


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, id=repr(name)[:20]) for name in ("", "a b", "a.b", "é", "x" * 65, "a\n", "<lambda>")],
)
def test_bad_names_are_refused(name: str) -> None:
    """A name that some provider would not take is said at once."""
    function = lambda: None  # noqa: E731
    function.__name__ = name

    with pytest.raises(ConfigurationError, match="can't be named"):
        ToolRegistry([function])


def test_duplicates_are_refused() -> None:
    """One name, one tool."""
    with pytest.raises(ConfigurationError, match="two tools are named 'search'"):
        ToolRegistry([search, search])
