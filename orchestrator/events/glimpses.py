"""Glimpses: what is only worth seeing while it happens. They are never journalled, and nothing depends on them."""

from registry.values import Tagged


class ThinkingBegan(Tagged, frozen=True, kw_only=True):
    """A model is being asked, in lap `iteration` of a step's loop."""

    step: str
    iteration: int


class StepQueued(Tagged, frozen=True, kw_only=True):
    """A step's request waits for a free slot of its endpoint."""

    step: str


class StepAdmitted(Tagged, frozen=True, kw_only=True):
    """The request got its slot after `waited` seconds, which are not counted as the step's."""

    step: str
    waited: float


class Compacted(Tagged, frozen=True, kw_only=True):
    """More of a step's conversation is left out of its requests than before. A resumed run leaves the same out again."""

    step: str
    iteration: int
    original_messages: int
    kept_messages: int


class Concluding(Tagged, frozen=True, kw_only=True):
    """A step's agent signals its final answer."""

    step: str
    iteration: int


class AnswerBegan(Tagged, frozen=True, kw_only=True):
    """A model begins to write the answer."""


class AnswerPiece(Tagged, frozen=True, kw_only=True):
    """More of the answer. `part` counts restarts, from 0; `offset` is where `text` begins in that part, in characters."""

    text: str
    part: int
    offset: int


class AnswerReset(Tagged, frozen=True, kw_only=True):
    """What was shown of the answer is void; part `part` begins."""

    why: str
    part: int


Glimpse = ThinkingBegan | StepQueued | StepAdmitted | Compacted | Concluding | AnswerBegan | AnswerPiece | AnswerReset
