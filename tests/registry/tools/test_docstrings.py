"""Docstrings in three styles."""

import pytest

from registry.tools.docstrings import read_docstring

GOOGLE = """Search the archive,
    newest first.

    Longer talk that no model needs.

    Args:
        query (str): what to look for,
            in plain words
        limit: how many: at most 10
        **rest: ignored

    Returns:
        found: not a parameter
    """

NUMPY = """Search the archive,
    newest first.

    Parameters
    ----------
    query : str
        what to look for,
        in plain words
    limit : int, optional
        how many: at most 10

    Returns
    -------
    found : list
        not a parameter
    """

PLAIN = """Search the archive,
    newest first.

    :param query: what to look for,
        in plain words
    :param int limit: how many: at most 10
    :returns: not a parameter
    """


@pytest.mark.parametrize(
    "text", [pytest.param(GOOGLE, id="google"), pytest.param(NUMPY, id="numpy"), pytest.param(PLAIN, id="plain")]
)
def test_each_style_describes_summary_and_parameters(text: str) -> None:
    """The first paragraph is the summary, and every parameter's words become one line."""
    described = read_docstring(text)

    assert described.summary == "Search the archive, newest first."
    assert described.parameters["query"] == "what to look for, in plain words"
    assert described.parameters["limit"] == "how many: at most 10"
    assert "found" not in described.parameters


@pytest.mark.parametrize(
    ("text", "summary", "parameters"),
    [
        pytest.param(None, "", {}, id="absent"),
        pytest.param("", "", {}, id="empty"),
        pytest.param("One line.", "One line.", {}, id="one line"),
        pytest.param("\n    Args:\n        x: a number", "", {"x": "a number"}, id="no summary"),
        pytest.param("Add.\nArgs:\n    x: a number", "Add.", {"x": "a number"}, id="no blank line"),
        pytest.param("Add.\n:param x: a number", "Add.", {"x": "a number"}, id="plain without blank line"),
        pytest.param(
            "Add.\n\nParameters\n----------\nx, y : int\n    numbers", "Add.", {"x": "numbers", "y": "numbers"}, id="pair"
        ),
        pytest.param("Add.\n\nArgs:\n    x:\n        below", "Add.", {"x": "below"}, id="words on the next line"),
        pytest.param("Add.\n\nArgs:\n    x:\n\n    y: two", "Add.", {"y": "two"}, id="a name without words"),
        pytest.param("Parameters matter here.", "Parameters matter here.", {}, id="a word is no heading"),
    ],
)
def test_odd_docstrings(text: str | None, summary: str, parameters: dict[str, str]) -> None:
    """Whatever is absent is simply not described."""
    described = read_docstring(text)

    assert (summary, parameters) == (described.summary, described.parameters)
