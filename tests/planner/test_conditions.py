"""Conditions: what holds, what can't be decided, and where a text stops being a condition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.conditions import DEEPEST, LONGEST, condition, holds
from planner.errors import BadCondition, Undecided
from planner.references import Reference
from registry.messages import Json

VALUES: dict[str, Json] = {
    "n": 3,
    "x": 3.0,
    "text": "three",
    "digit": "3",
    "yes": True,
    "no": False,
    "none": None,
    "list": [1, "a", {"k": [2]}],
    "object": {"k": 1},
}


def look(reference: Reference) -> Json:
    assert reference.name in VALUES, f"nobody may look at {reference.text}"
    return VALUES[reference.name]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("${inputs.n} == 3", True, id="equal numbers"),
        pytest.param("${inputs.n} == ${inputs.x}", True, id="whole and broken numbers"),
        pytest.param("${inputs.n} == '3'", False, id="a number is no text"),
        pytest.param("${inputs.digit} == 3", False, id="a text is no number"),
        pytest.param("${inputs.yes} == 1", False, id="true is not 1"),
        pytest.param("${inputs.no} == null", False, id="false is not null"),
        pytest.param("${inputs.none} == null", True, id="null"),
        pytest.param("${inputs.text} != 'four'", True, id="unequal"),
        pytest.param("${inputs.list} == [1, 'a', ${inputs.list}]", False, id="unequal lists"),
        pytest.param("[true] == [1]", False, id="true is not 1 in lists either"),
        pytest.param("${inputs.n} >= 3 and ${inputs.n} < 3.5", True, id="numbers in order"),
        pytest.param("-1e2 <= -100", True, id="numbers as in JSON"),
        pytest.param("${inputs.text} > 'apple'", True, id="texts in order"),
        pytest.param("'a' in ${inputs.list}", True, id="in a list"),
        pytest.param("true in ${inputs.list}", False, id="not in a list, for true is not 1"),
        pytest.param("'k' in ${inputs.object}", True, id="in an object"),
        pytest.param("'hre' in ${inputs.text}", True, id="in a text"),
        pytest.param("'z' not in ${inputs.text}", True, id="not in"),
        pytest.param("${inputs.n} in [1, 2, 3,]", None, id="no comma at the end"),
        pytest.param("${inputs.yes}", True, id="alone"),
        pytest.param("not ${inputs.yes}", False, id="not"),
        pytest.param("not not ${inputs.yes}", True, id="not not"),
        pytest.param("not ${inputs.n} == 3", False, id="not is weaker than a comparison"),
        pytest.param("${inputs.yes} or ${inputs.no} and ${inputs.no}", True, id="and is stronger than or"),
        pytest.param("(${inputs.yes} or ${inputs.no}) and ${inputs.no}", False, id="parentheses"),
        pytest.param("(${inputs.n} == 3) == ${inputs.yes}", True, id="a comparison is a value"),
        pytest.param("${inputs.yes} or ${inputs.gone} == 1", True, id="or looks no further"),
        pytest.param("${inputs.no} and ${inputs.gone} == 1", False, id="and looks no further"),
        pytest.param(r'"a\"b" == ' + r"'a\"b'", True, id="escapes"),
        pytest.param("'$${x}' == '$${x}'", True, id="an escaped reference is text"),
    ],
)
def test_what_holds(text: str, expected: bool | None) -> None:
    """Nothing is converted, and nobody looks at more than is needed."""
    if expected is None:
        with pytest.raises(BadCondition):
            holds(text, look)
    else:
        assert expected is holds(text, look)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("${inputs.n}", "3 is neither true nor false", id="a number decides nothing"),
        pytest.param("${inputs.text} and true", '"three" is neither true nor false', id="nor does a text"),
        pytest.param("${inputs.n} < '4'", '3 and "4" have no order', id="mixed order"),
        pytest.param("${inputs.yes} < 2", "true and 2 have no order", id="true has no order"),
        pytest.param("[1] < [2]", "[1] and [2] have no order", id="lists have none"),
        pytest.param("1 in ${inputs.text}", '1 can\'t be in "three"', id="a number in a text"),
        pytest.param("'a' in 3", '"a" can\'t be in 3', id="in a number"),
    ],
)
def test_what_cannot_be_decided(text: str, why: str) -> None:
    """Where the values don't suit it, that is said, and it counts as neither."""
    with pytest.raises(Undecided) as raised:
        holds(text, look)

    assert why == raised.value.why


@pytest.mark.parametrize(
    ("text", "at", "why"),
    [
        pytest.param("", 0, "a value was to come here", id="empty"),
        pytest.param("${inputs.a} ==", 14, "a value was to come here", id="half"),
        pytest.param("${inputs.a} = 1", 12, "'=' can't stand here", id="one sign"),
        pytest.param("route", 0, "'route' is no value: a text stands in quotes, a reference in ${...}", id="bare name"),
        pytest.param("${route}", 0, "${route} is not a reference", id="no reference"),
        pytest.param("'${inputs.a}' == 1", 0, "a reference stands by itself, without quotes", id="quoted reference"),
        pytest.param("1 == 1 1", 7, "nothing more, or an 'and' or 'or', was to come here", id="more"),
        pytest.param("1 < 2 < 3", 6, "nothing more, or an 'and' or 'or', was to come here", id="no chains"),
        pytest.param("(1 == 1", 7, "')' was to come here", id="open"),
        pytest.param("1 not 1", 6, "'in' was to come after 'not'", id="not without in"),
        pytest.param(
            "__import__('os')", 0, "'__import__' is no value: a text stands in quotes, a reference in ${...}", id="code"
        ),
        pytest.param("'a' + 'b'", 4, "'+' can't stand here", id="no sums"),
        pytest.param("(" * (DEEPEST + 1), DEEPEST + 1, f"nested deeper than {DEEPEST} levels", id="deep"),
        pytest.param(" " * LONGEST + "1", LONGEST, f"a condition has at most {LONGEST} characters", id="long"),
    ],
)
def test_what_is_no_condition(text: str, at: int, why: str) -> None:
    """The error says at which character, and what was due there."""
    with pytest.raises(BadCondition) as raised:
        condition(text)

    assert (at, why) == (raised.value.at, raised.value.why)


@given(st.text(alphabet="()[],=!<>'\" \\$.{}aeintfrulsdo013-", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Whatever stands there, it is a condition or a `BadCondition` with a place in the text, and it has one meaning."""
    place = 0
    try:
        assert condition(text) == condition.__wrapped__(text)
    except BadCondition as bad:
        place = bad.at

    assert 0 <= place <= len(text)
