"""The JSON Schema of plan files agrees with the reader."""

from pathlib import Path

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from planner.errors import PlanError
from planner.files import draft_from, plain_plan
from planner.files.schema import plan_schema
from planner.files.text import yaml_value
from tests.planner.drafts import answers, plans, submissions

VALIDATOR = Draft202012Validator(plan_schema())
EXAMPLES = Path(__file__).parents[3] / "examples"


def test_it_is_a_schema():
    """Editors take it."""
    Draft202012Validator.check_schema(plan_schema())


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_the_examples_fit(path):
    """The plans that come with us."""
    VALIDATOR.validate(yaml_value(path.read_text()).value)


@given(plans)
def test_every_plan_fits(drawn):
    """What a plan is written as, its schema takes."""
    VALIDATOR.validate(plain_plan(drawn))


@given(answers | submissions)
def test_what_fits_is_read(value):
    """What the schema takes, the reader does, save for figures that are out of order."""
    if VALIDATOR.is_valid(value):
        try:
            draft_from(value)
        except PlanError as wrong:
            assert {"/estimate"} == {found.place[-len("/estimate") :] for found in wrong.diagnostics}  # noqa: PT017


@pytest.mark.parametrize(
    ("step", "fits"),
    [
        pytest.param({"id": 1, "needs": "a"}, True, id="short forms"),
        pytest.param({"id": "a", "dependencies": [1], "needs": [2]}, False, id="two names for one thing"),
        pytest.param({"task": "t"}, False, id="no id"),
        pytest.param({"id": "a", "tool": "t"}, False, id="a tool without its kind"),
        pytest.param({"id": "a", "kind": "map", "over": [], "step": {"task": "t"}}, True, id="a map's step needs no id"),
        pytest.param({"id": "a", "estimate": {"calls": 3, "seconds": {"low": 1, "likely": 2, "high": 3}}}, True, id="figures"),
        pytest.param({"id": "a", "depend_on": []}, False, id="misspelt"),
    ],
)
def test_steps(step, fits):
    """Every way to write a step that the reader takes, and no other."""
    assert fits == VALIDATOR.is_valid({"goal": "g", "steps": [step]})
