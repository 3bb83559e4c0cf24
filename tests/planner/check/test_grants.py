"""Checks against what the run has."""

import pytest

from planner.check.grants import grant_errors
from planner.check.known import Known
from planner.plan import Input, ToolStep
from tests.planner.drafts import draft, step

KNOWN = Known(tools=frozenset({"search", "fetch"}), hints=frozenset({"fast"}), inputs={"city": "Graz"})
CITY = {"city": Input()}


@pytest.mark.parametrize(
    ("wrong", "right", "code", "place", "words"),
    [
        pytest.param(
            draft(ToolStep(id="a", tool="serch"), inputs=CITY),
            draft(ToolStep(id="a", tool="search"), inputs=CITY),
            "P008",
            "/steps/0/tool",
            "no tool named 'serch'; did you mean 'search'? there are: fetch, search",
            id="P008 tool step",
        ),
        pytest.param(
            draft(step("a", tools=("search", "x")), inputs=CITY),
            draft(step("a", tools=("search", "fetch")), inputs=CITY),
            "P008",
            "/steps/0/tools/1",
            "'x'",
            id="P008 grant",
        ),
        pytest.param(
            draft(step("a", tool_hint="Search"), inputs=CITY),
            draft(step("a", tool_hint="search"), inputs=CITY),
            "P008",
            "/steps/0/tool_hint",
            "'Search'",
            id="P008 hint",
        ),
        pytest.param(
            draft(step("b"), step("a", model_hint="slow"), inputs=CITY),
            draft(step("b"), step("a", model_hint="fast"), inputs=CITY),
            "P009",
            "/steps/1/model_hint",
            "no model or role named 'slow'; there are: fast",
            id="P009",
        ),
        pytest.param(
            draft(step("a"), inputs=CITY | {"day": Input()}),
            draft(step("a"), inputs=CITY | {"day": Input(default=1), "night": Input(required=False)}),
            "P011",
            "/inputs/day",
            "'day' was not given",
            id="P011",
        ),
        pytest.param(
            draft(step("a"), inputs={}),
            draft(step("a"), inputs=CITY),
            "P015",
            "/inputs",
            "no input named 'city'; there are: none",
            id="P015",
        ),
        pytest.param(
            draft(step("a"), inputs={"city": Input(type="integer")}),
            draft(step("a"), inputs={"city": Input(type="string")}),
            "P012",
            "/inputs/city",
            "the input 'city' is no integer",
            id="P012",
        ),
    ],
)
def test_codes(wrong, right, code, place, words):
    """What the run doesn't have gives its code at its place, with what there is; the nearest plan without fault nothing."""
    (found,) = grant_errors(wrong, KNOWN)

    assert (code, "error", place) == (found.code, found.severity, found.place)
    assert words in found.message
    assert () == grant_errors(right, KNOWN)
