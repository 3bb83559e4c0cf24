"""The numbers of a run that a user may set."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`step_seconds` and `step_iterations` hold for a step that sets none.

    `rounds` counts plans: the first one and its revisions. A submitted plan is revised only where `submitted_rounds` allows more
    than one. Of the tool calls of one reply that may go side by side, `tool_width` do so at a time. `reply_tokens` caps each
    reply of a step's agent and `answer_tokens` the final answer, None for no cap of ours.
    """

    step_seconds: float = 600.0
    step_iterations: int = 15
    rounds: int = 3
    submitted_rounds: int = 1
    tool_width: int = 16
    reply_tokens: int | None = None
    answer_tokens: int | None = None
