"""Glimpses: what is only worth seeing while it happens. They are never journalled, and nothing depends on them."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingBegan:
    """A model is being asked, in lap `iteration` of a step's loop."""

    step: str
    iteration: int
    kind: Literal["thinking_began"] = "thinking_began"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepQueued:
    """A step's request waits for a free slot of its endpoint."""

    step: str
    kind: Literal["step_queued"] = "step_queued"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepAdmitted:
    """The request got its slot after `waited` seconds, which are not counted as the step's."""

    step: str
    waited: float
    kind: Literal["step_admitted"] = "step_admitted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """More of a step's conversation is left out of its requests than before. A resumed run leaves the same out again."""

    step: str
    iteration: int
    original_messages: int
    kept_messages: int
    kind: Literal["compacted"] = "compacted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Concluding:
    """A step's agent signals its final answer."""

    step: str
    iteration: int
    kind: Literal["concluding"] = "concluding"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerBegan:
    kind: Literal["answer_began"] = "answer_began"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPiece:
    """More of the answer. `part` counts restarts, from 0; `offset` is where `text` begins in that part, in characters."""

    text: str
    part: int
    offset: int
    kind: Literal["answer_piece"] = "answer_piece"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReset:
    """What was shown of the answer is void; part `part` begins."""

    why: str
    part: int
    kind: Literal["answer_reset"] = "answer_reset"


Glimpse = ThinkingBegan | StepQueued | StepAdmitted | Compacted | Concluding | AnswerBegan | AnswerPiece | AnswerReset
