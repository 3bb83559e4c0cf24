"""Which models a run with a budget may ask, and which of them is the cheaper one."""

from collections.abc import Iterable
from decimal import Decimal

from registry.budget import Amounts, WhenUnpriced
from registry.errors import ConfigurationError
from registry.governor.budgeted import BudgetedModel, is_budgeted, tariff_under, unpriced
from registry.models.model import Model
from registry.models.registry import ModelRegistry

FAST = "fast"
"""The role that is taken to be the cheaper one where prices are not known."""


def paying(models: ModelRegistry) -> ModelRegistry:
    """The same models, of which none is asked but out of a budget, where the call has one."""
    return models.through(lambda model: model if is_budgeted(model) else BudgetedModel(model))


def refuse_unpriced(models: ModelRegistry, limits: Iterable[Amounts], when: WhenUnpriced) -> None:
    """Raises `ConfigurationError` where any of these limits money and nobody knows what some of the models charge."""
    if when == "allow" or all(each.cost is None for each in limits):
        return
    names = dict.fromkeys(name for model in models.models for name in unpriced(model))
    if names:
        raise ConfigurationError(
            f"money is limited, and nobody knows what {', '.join(names)} charges: give each a price in "
            "the settings file (`price` or `price_as`), install the published ones with the extra `prices`, or allow models "
            'without a price (`unpriced = "allow"`, or --allow-unpriced)'
        )


def cheaper(own: Model, models: ModelRegistry) -> Model:
    """The model that does a step's work for less; the step's own where there is none.

    By the prices that are known, the one that charges least. Where the own price is not known, or that of no other one, it is
    the one in the role `fast`. Who can't call tools does not stand in for one who can.
    """
    price = _price(own)
    calls_tools = own.abilities.get("tool_call", False)
    able = [model for model in models.models if model.abilities.get("tool_call", False) or not calls_tools]
    priced = {model.name: known for model in able if (known := _price(model)) is not None}
    if price is None or not priced.keys() - {own.name}:
        fast = models.model(FAST)
        return fast if any(fast is model or fast.name == model.name for model in able) else own
    least = min(able, key=lambda model: priced.get(model.name, price))
    return least if priced.get(least.name, price) < price else own


def _price(model: Model) -> Decimal | None:
    """Dollars for a million tokens of input and one of output."""
    tariff = tariff_under(model)
    return None if tariff is None else sum(tariff.per_million(), Decimal(0))
