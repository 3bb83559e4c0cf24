"""What an agent's loop came to."""

from typing import Literal

from msgspec import Struct

from orchestrator.waiting import Waiting
from planner.results import Outcome
from registry.errors import DagwrightError
from registry.messages import Message
from registry.origins import Origins, joined
from registry.usage import Usage

AgentOutcome = Outcome | Literal["suspended"]

UNPARSED = "(could not parse LLM output as JSON)"
"""The reasoning of an answer that was not in its dialect."""


class AgentResult(Struct, frozen=True, kw_only=True):
    """How a loop ended, and everything that was said in it.

    `answer` is the whole answer, or what there was by then. `outcome` is "completed" for a success; "suspended" is not an
    end: `waiting` says what for. `unparsed` marks an answer that is the model's raw text, since it never kept to its dialect.
    `waited` is the seconds that requests queued. `unanswered` are the user's messages that no reply has taken into account.
    """

    answer: str
    outcome: AgentOutcome
    transcript: tuple[Message, ...]
    usage: Usage
    iterations: int
    reasoning: str = ""
    unparsed: bool = False
    model: str = ""
    waited: float = 0.0
    waiting: tuple[Waiting, ...] = ()
    unanswered: tuple[str, ...] = ()
    error: DagwrightError | None = None

    @property
    def origins(self) -> Origins:
        """Everything untrusted that was read on the way to the answer."""
        return joined(*[message.origins for message in self.transcript])
