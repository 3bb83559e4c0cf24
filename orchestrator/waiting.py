"""What a run may wait for. Waiting is not an error: the walk returns Suspended, and resuming takes it up again."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A call whose outcome nobody knows: it was begun, and no outcome was written before the process ended.

    `key` is its call key, `what` the sentence that says it to a person.
    """

    step: str
    key: str
    what: str
    kind: Literal["in_doubt"] = "in_doubt"
