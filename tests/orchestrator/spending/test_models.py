"""Which models may be asked for money, and which is the cheaper one."""

from decimal import Decimal

import pytest

from orchestrator.spending.models import cheaper, paying, refuse_unpriced
from registry.budget import UNLIMITED, Amounts
from registry.errors import ConfigurationError
from registry.governor.budgeted import BudgetedModel, is_budgeted
from registry.models.model import Model
from registry.models.prices import Price
from registry.models.registry import ModelRegistry
from registry.testing import ScriptedModel

MONEY = (UNLIMITED, Amounts(cost=Decimal(1)))


def model(name: str, price: str = "", *, tools: bool = True) -> Model:
    tariff = Price(input=Decimal(price), output=Decimal(price)).tariff() if price else None
    return BudgetedModel(ScriptedModel([], name=name, abilities={"tool_call": tools}), lambda: tariff)


def test_every_model_of_a_run_is_paid_for() -> None:
    """One that has a budget's layer already is left alone; roles and names stay."""
    bare, layered = ScriptedModel([], name="bare"), model("layered")
    models = ModelRegistry([bare, layered], roles={"fast": "layered"})
    found = paying(models)

    assert layered is found.model("fast") is found.model("layered")
    assert is_budgeted(found.model("bare"))
    assert bare is not found.model("bare")
    assert (models.hints, models.roles) == (found.hints, found.roles)


def test_money_needs_prices() -> None:
    """Where any limit is one of money, each model has a price, or the user says that it need not."""
    models = ModelRegistry([model("dear", "1"), model("odd"), ScriptedModel([], name="bare")])
    with pytest.raises(ConfigurationError, match="nobody knows what odd, bare charges: give each a price"):
        refuse_unpriced(models, MONEY, "refuse")

    refuse_unpriced(models, MONEY, "allow")
    refuse_unpriced(models, (Amounts(tokens=5),), "refuse")
    refuse_unpriced(ModelRegistry(model("dear", "1")), MONEY, "refuse")


@pytest.mark.parametrize(
    ("own", "others", "found"),
    [
        pytest.param(model("own", "5"), [model("a", "3"), model("b", "1"), model("c")], "b", id="the cheapest"),
        pytest.param(model("own", "1"), [model("a", "3"), model("b")], "own", id="it is that itself"),
        pytest.param(model("own", "5"), [model("a", "1", tools=False)], "own", id="who can't call tools can't do it"),
        pytest.param(model("own", tools=False), [model("fast", tools=False)], "fast", id="no price is known"),
        pytest.param(model("own", "5"), [model("fast")], "fast", id="nor that of another"),
        pytest.param(model("own"), [model("fast", tools=False)], "own", id="nor can the fast one call tools"),
        pytest.param(model("own"), [model("other")], "own", id="nobody is fast"),
    ],
)
def test_the_cheaper_model(own: Model, others: list[Model], found: str) -> None:
    """By price where that is known, else by its role."""
    fast = {"fast": "fast"} if any(other.name == "fast" for other in others) else {}

    assert found == cheaper(own, ModelRegistry([own, *others], roles=fast)).name
