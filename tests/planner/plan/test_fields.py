"""What the fields of a plan may hold."""

from enum import IntEnum, StrEnum

import pytest
from pydantic import BaseModel, ValidationError

from planner.identity import step_digests
from planner.plan import Plan, Step, ToolStep


class Town(BaseModel):
    name: str


def test_a_pydantic_model_is_its_schema() -> None:
    """In Python an output schema may be a class; what the plan holds, and writes, is the JSON Schema."""
    one, other = Step(id="a", task="x", output_schema=Town), Step(id="a", task="x", output_schema=Town.model_json_schema())

    assert one == other
    assert one == Step.model_validate_json(one.model_dump_json())


def test_a_schema_holds_nothing_that_cannot_be_stored() -> None:
    """Like every other value of a plan."""
    with pytest.raises(ValidationError, match=r"output_schema\.x is a object"):
        Step(id="a", task="x", output_schema={"x": object()})


@pytest.mark.parametrize("value", [True, None, 1.5])
def test_ids_are_text_or_whole_numbers(value: object) -> None:
    """Nothing else is an id."""
    with pytest.raises(ValidationError):
        ToolStep(id=value, tool="t")


def test_a_tuple_is_a_list() -> None:
    """JSON has no other, and what is read back is what was written."""
    step = ToolStep(id="a", tool="t", args={"x": (1, {"y": (2,)})})

    assert {"x": [1, {"y": [2]}]} == step.args
    assert step == ToolStep.model_validate_json(step.model_dump_json())


class Word(StrEnum):
    TOWN = "Malmö"


class Size(IntEnum):
    LARGE = 3


def test_texts_and_numbers_are_plain_ones() -> None:
    """A plan of values that are more than that is the same plan when it is read back, and its steps are the same work."""
    plan = Plan(goal="g", steps=[ToolStep(id="a", tool="t", args={"x": [{Word.TOWN: Word.TOWN}, Size.LARGE]})])
    again = Plan.model_validate_json(plan.model_dump_json())

    (((key, value),), number) = (plan.steps[0].args["x"][0].items(), plan.steps[0].args["x"][1])
    assert (str, str, int) == (type(key), type(value), type(number))
    assert step_digests(again, {}) == step_digests(plan, {})
