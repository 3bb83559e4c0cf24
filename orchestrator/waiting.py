"""What a run may wait for, and what a person can say to it. Waiting is not an error: the walk returns Suspended, and goes on
when the answer is there."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from registry.digests import digest

WaitingKind = Literal["approval", "question", "in_doubt"]

Decision = Literal["approve", "reject", "answer", "happened", "retry", "skip", "fail"]

DECISIONS: Mapping[WaitingKind, tuple[Decision, ...]] = {
    "approval": ("approve", "reject"),
    "question": ("answer",),
    "in_doubt": ("happened", "retry", "skip", "fail"),
}
"""What can be said to each kind. Of an outcome in doubt: it happened (and this came of it), do it again, go on without it, or
let it count as failed."""


class Waiting(Struct, frozen=True, kw_only=True):
    """Something that only a person can say: whether a call or a step may be done, the answer to a question, or whether a call
    happened that was begun and has no outcome.

    `key` is the call's key, or the step's scope for a step that is an approval. `what` is the sentence that is shown. `nth`
    counts how often the call was begun: an answer is used once, and a call that is in doubt again is asked about again.
    """

    step: str
    key: str
    what: str
    kind: WaitingKind
    nth: int = 1

    @property
    def id(self) -> str:
        """Of all that is shown: who answers to an id answers to exactly this. Long enough that no other call can be made up
        that has the same one; its beginning will do to name it."""
        return digest([self.kind, self.key, self.step, self.what, self.nth])[:16]
