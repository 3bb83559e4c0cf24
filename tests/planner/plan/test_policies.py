"""What a plan says about its steps beside their work."""

import pytest
from pydantic import ValidationError

from planner.plan import Estimate, ExpressionCheck, JudgeCheck, SchemaCheck, Spread, Step, ToolCheck


@pytest.mark.parametrize(
    ("written", "check"),
    [
        ({"fits": {"type": "object"}}, SchemaCheck(fits={"type": "object"})),
        ({"holds": "${data.n} > 3"}, ExpressionCheck(holds="${data.n} > 3")),
        ({"tool": "lint", "args": {"text": "${output}"}}, ToolCheck(tool="lint", args={"text": "${output}"})),
        ({"judge": "Is it short?", "model": "fast"}, JudgeCheck(judge="Is it short?", model="fast")),
    ],
)
def test_a_check_is_told_by_its_field(written: dict[str, object], check: object) -> None:
    """Each kind has a field that no other has."""
    step = Step.model_validate({"id": "a", "task": "x", "verify": written})

    assert check == step.verify
    assert step == Step.model_validate_json(step.model_dump_json())


@pytest.mark.parametrize("written", [{}, {"fits": {}, "judge": "x"}, {"judge": " "}, {"model": "fast"}, "${data.n} > 3"])
def test_what_is_no_check(written: object) -> None:
    """None of the kinds, two of them, or an empty question."""
    with pytest.raises(ValidationError):
        Step.model_validate({"id": "a", "task": "x", "verify": written})


def test_an_estimate_may_be_a_number_or_a_spread() -> None:
    """A number alone is low, likely and high in one; what nobody estimates is left open."""
    found = Estimate.model_validate({"calls": 3, "seconds": {"low": 1, "likely": 2.5, "high": 9}})

    assert Spread(low=3, likely=3, high=3) == found.calls
    assert 2.5 == found.seconds.likely
    assert found.tokens is None


@pytest.mark.parametrize("figure", [-1, True, "3", {"low": 2, "likely": 1, "high": 3}, {"low": 1, "likely": 4, "high": 3}])
def test_what_is_no_figure(figure: object) -> None:
    """Below nothing, of another type, or out of order."""
    with pytest.raises(ValidationError):
        Estimate.model_validate({"tokens": figure})
