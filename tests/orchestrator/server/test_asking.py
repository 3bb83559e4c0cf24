"""What a request asks for, against what the server has."""

from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from orchestrator.limits import Limits
from orchestrator.server.asking import NARROWED, Means, Setup, named_by
from orchestrator.server.problems import Problem
from planner import PlanError
from registry.models.registry import ModelRegistry
from registry.testing import ScriptedModel
from registry.tools.registry import ToolRegistry

LIMITS = Limits(rounds=2, reply_tokens=500, max_cost=Decimal("0.5"))
MEANS = Means(models=ModelRegistry(ScriptedModel([])), tools=ToolRegistry(), limits=LIMITS)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param({}, LIMITS, id="nothing"),
        pytest.param({"rounds": 1}, replace(LIMITS, rounds=1), id="less"),
        pytest.param({"rounds": 2, "submitted_rounds": 2}, replace(LIMITS, submitted_rounds=2), id="as much"),
        pytest.param({"answer_tokens": 10**6}, replace(LIMITS, answer_tokens=10**6), id="where there is no limit"),
        pytest.param({"max_cost": Decimal("0.1")}, replace(LIMITS, max_cost=Decimal("0.1")), id="money"),
    ],
)
def test_a_request_narrows(wanted: dict[str, Any], expected: Limits) -> None:
    """It sets what is at most the server's own."""
    assert expected == MEANS.narrowed(wanted)


@pytest.mark.parametrize(
    "wanted",
    [{"rounds": 3}, {"submitted_rounds": 3}, {"reply_tokens": 501}, {"max_cost": Decimal("0.51")}, {"step_seconds": 601.0}],
)
def test_a_request_never_widens(wanted: dict[str, Any]) -> None:
    """What is above the server's own is refused, with the most that may be asked for."""
    with pytest.raises(Problem, match="at most") as refused:
        MEANS.narrowed(wanted)

    assert (422, "bad-limits", next(iter(wanted))) == (refused.value.status, refused.value.slug, refused.value.facts["limit"])


def test_models_without_a_price_are_the_servers_to_allow() -> None:
    """No request can."""
    assert "unpriced" not in NARROWED


def test_a_run_that_goes_on_gets_the_lesser() -> None:
    """Of what it was begun with and what the server gives now."""
    began = Limits(rounds=1, reply_tokens=800, answer_tokens=7)

    assert replace(LIMITS, rounds=1, answer_tokens=7) == MEANS.least(began)


def test_how_a_run_was_begun_is_read_back() -> None:
    """As it was written, money included."""
    setup = Setup(limits=LIMITS, asked="abc", attached=True)

    assert setup == Setup.read(setup.written())


@pytest.mark.parametrize("written", [{}, {"models": [], "tools": []}, {"service": 1}, {"service": {"limits": {"rounds": "x"}}}])
def test_what_others_wrote_is_not_ours(written: dict[str, Any]) -> None:
    """A run that the command line began, or a newer server, is not taken up."""
    assert Setup.read(written) is None


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param({"goal": "g", "steps": [{"id": "a", "task": "t"}]}, id="object"),
        pytest.param('{"goal": "g", "steps": [{"id": "a", "task": "t"}]}', id="JSON"),
        pytest.param("goal: g\nsteps:\n- id: a\n  task: t\n", id="YAML"),
    ],
)
def test_a_plan_comes_in_three_forms(plan: Any) -> None:
    """And is the same plan."""
    assert ["a"] == [step.id for step in MEANS.plan(plan, {}).steps]


@pytest.mark.parametrize(
    ("plan", "code", "line"),
    [
        pytest.param({"goal": "g", "steps": []}, "P001", None, id="no steps"),
        pytest.param({"goal": "g", "steps": [{"id": "a", "task": "t", "tools": ["x"]}]}, "P008", None, id="no such tool"),
        pytest.param("goal: g\nsteps:\n- id: a\n  task: t\n  needs: b\n", "P005", 5, id="with its place"),
        pytest.param("goal: [", "P014", 2, id="unreadable"),
        pytest.param({"goal": "g", "steps": 3}, "P012", None, id="no plan"),
    ],
)
def test_a_plan_that_can_not_be_run_here(plan: Any, code: str, line: int | None) -> None:
    """Is refused before anything begins, and every reason is told."""
    with pytest.raises(PlanError) as refused:
        MEANS.plan(plan, {})

    found = refused.value.diagnostics
    assert code in [each.code for each in found]
    assert line == next(each.line for each in found if each.code == code)


def test_inputs_are_missed_only_where_a_run_is_asked_for() -> None:
    """A plan alone may be looked at without values for them."""
    plan = {"goal": "g", "inputs": {"city": {}}, "steps": [{"id": "a", "task": "Look at ${inputs.city}"}]}

    assert [] == [each.code for each in MEANS.checked(plan, None)[1] if each.severity == "error"]
    assert ["P011"] == [each.code for each in MEANS.checked(plan, {})[1] if each.severity == "error"]


def test_a_key_names_a_run() -> None:
    """Always the same, and no other key does."""
    assert named_by("a") == named_by("a") != named_by("b")
    assert named_by("ä" * 200).isalnum()
