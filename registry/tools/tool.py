"""What a tool is: a callable that a model may ask for, and what we must know to run it safely."""

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Final, Literal, Protocol

from msgspec import Struct

from registry.calls import Call
from registry.errors import ConfigurationError
from registry.messages import Json, Schema, ToolSpec
from registry.origins import TRUSTED, Origins
from registry.tools.artifacts import Artifact

Effect = Literal["pure", "keyed", "transactional", "unkeyed"]
"""What running twice would do.

`pure` reads only. `keyed` is safe to repeat with our idempotency key (`Call.key`). `transactional` records our key
together with its effect, and its `probe` looks it up. `unkeyed` is everything else: never repeated when its outcome is unknown.
"""


class Absence(Enum):
    """The one value `ABSENT`."""

    ABSENT = "absent"


ABSENT: Final = Absence.ABSENT
"""What a probe returns for a key of which there is no record: the call did not happen. None says neither one nor the other."""

Probe = Callable[[str], Awaitable[object]]
"""Looks up what became of the call of this key: returns its result, or `ABSENT`. It must be sure of either."""


class ToolTraits(Struct, frozen=True, kw_only=True):
    """How a tool may be run.

    `timeout` is seconds, None for none beyond the step's own. `retries` repeats a failed `pure` or `keyed` call so often, and
    `again_if_empty`, from 0 to 2, one that returned nothing.
    What a `cacheable` tool said holds for the whole run: a call with the same arguments takes it, and nothing runs.
    `concurrent` None follows the effect: pure calls run side by side. `pinned` tools are always shown to the model.
    `trusted` tools add no origin to what they return. `destinations` names the parameters that say where data goes.
    A tool that `requires_approval` runs only when a person has allowed exactly this call. One that is `answered_by_user` never
    runs: its `question`, or else all its arguments, are put to the user, and the answer is the result. `probe` says what became
    of a call. `result` is the JSON Schema of structured results, None where nobody says.
    """

    effect: Effect = "unkeyed"
    timeout: float | None = None
    retries: int = 0
    again_if_empty: int = 1
    cacheable: bool = False
    concurrent: bool | None = None
    pinned: bool = False
    trusted: bool = False
    destinations: tuple[str, ...] = ()
    requires_approval: bool = False
    answered_by_user: bool = False
    probe: Probe | None = None
    result: Schema | None = None

    def __post_init__(self) -> None:
        if self.timeout is not None and self.timeout <= 0:
            raise ConfigurationError(f"a tool can't have a timeout of {self.timeout} s: more than 0, or None")
        if self.retries < 0:
            raise ConfigurationError(f"a tool can't have {self.retries} retries")
        if self.again_if_empty not in (0, 1, 2):
            raise ConfigurationError(f"a tool can't be called again {self.again_if_empty} times for an empty result: 0 to 2")
        if self.cacheable and self.effect != "pure":
            raise ConfigurationError(f"what {self.effect} tools say can't be kept: only a pure one can be cacheable")

    @property
    def side_by_side(self) -> bool:
        """Whether calls may run while others of the batch do."""
        return self.effect == "pure" if self.concurrent is None else self.concurrent

    @property
    def asks(self) -> bool:
        """Whether a person has to say something before a call runs."""
        return self.requires_approval or self.answered_by_user

    @property
    def repeatable(self) -> bool:
        """Whether running again does no harm."""
        return self.effect in ("pure", "keyed")


class Tool(Protocol):
    """A named callable with a JSON Schema for its arguments."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def traits(self) -> ToolTraits: ...

    async def run(self, args: Mapping[str, Json], call: Call) -> object:
        """The result of one call, any value that can be rendered as text. `args` are already valid.

        May raise anything: the door that calls it (`registry.tools.calling`) turns it into a `ToolError`.
        """
        ...


class Observation(Struct, frozen=True, kw_only=True):
    """What came back from one call, as the model will read it. Exactly one for every call.

    `error` is the kind of error (`UnknownTool`, `BadArguments`, ...) or None. `data` is the JSON value of a structured
    result, None for plain text. `artifacts` are what the tool made for the user. `seconds` is how long the tool ran.
    """

    call_id: str
    name: str
    text: str
    error: str | None = None
    data: Json = None
    artifacts: tuple[Artifact, ...] = ()
    origins: Origins = TRUSTED
    seconds: float = 0.0
