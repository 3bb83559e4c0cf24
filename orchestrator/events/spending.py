"""The Facts of a run's budget."""

from registry.budget import Spending
from registry.usage import Kind
from registry.values import Tagged


class BudgetDrawn(Tagged, frozen=True, kw_only=True):
    """A request is about to leave, for the step of this name if it is for one; without a name, the books are only kept.

    By now so much is `spent`, `held` for requests on their way, this one too, and `seconds` of work have passed, in all lives of
    the run. `estimated` requests count as was estimated.
    """

    step: str
    spent: Spending
    held: Spending
    seconds: float
    estimated: int = 0


class LandingBegan(Tagged, frozen=True, kw_only=True):
    """So much of a limit is used that the run comes to its end: on cheaper models, and with nothing that is optional."""

    limit: Kind
    used: float


class ModelChosen(Tagged, frozen=True, kw_only=True):
    """A try at a step is made on another model than its own, a cheaper one, and stays on it."""

    scope: str
    attempt: int
    step: str
    model: str
