"""What an agent may read again when it no longer stands in its context: external memory."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace
from pydantic import Field

from registry.context import LONGEST_RESULT, READ_RESULT, ContextGuard, estimate_tokens, previewed
from registry.digests import digest
from registry.errors import ToolFailed, there_are
from registry.origins import TRUSTED, Origins, joined
from registry.tools.function import FunctionTool
from registry.tools.tool import Observation, Tool

LONGEST_READING = 15_000
"""Characters that one reading gives at most: with its note it is shorter than what enters a context whole."""

FULL_FROM = 0.1
"""The part of the budget that results must take before any of them may have to go, so that reading again could be of use."""


class _Kept(Struct, frozen=True):
    text: str
    origins: Origins


class Memory:
    """One agent's own: it can read what its calls brought and what it was given, and nothing else of the run.

    A handle is made of the call's key, or of the given text itself. So it is the same when a run is resumed, and never stands
    for anything else. What is kept is what the agent was allowed to see: a hook that hid something has hidden it here too.
    """

    def __init__(self, guard: ContextGuard, *given: str) -> None:
        self._budget = guard.budget
        self._kept: dict[str, _Kept] = {}
        self._handles: dict[str, str] = {}
        self._unnamed: list[tuple[Observation, str]] = []
        self._tokens, self._needed = 0, False
        for text in given:
            if not guard.holds(text):
                self._needed = True
                self._keep(f"given-{digest(text)[:10]}", text, _Kept(text, TRUSTED))

    @property
    def handles(self) -> Mapping[str, str]:
        """The handles of results by the ids of their calls, and of given texts that must be cut by the texts themselves."""
        self._name()
        return self._handles

    @property
    def empty(self) -> bool:
        """Whether everything is in the context, and will be for a while."""
        return not self._needed and (self._budget is None or self._tokens <= FULL_FROM * self._budget)

    def noted(self, seen: Observation, key: str) -> Observation:
        """Keep what came of the call of this key. Returns what the model is to read: all of it, or a preview with the handle."""
        if seen.name == READ_RESULT:  # that is kept already; it comes from wherever any of it came from
            self._name()
            return replace(seen, origins=joined(seen.origins, *(kept.origins for kept in self._kept.values())))
        self._tokens += estimate_tokens(seen.text)
        self._unnamed.append((seen, key))
        if len(seen.text) <= LONGEST_RESULT:
            return seen
        self._needed = True
        return replace(seen, text=previewed(seen.text, self.handles[seen.call_id]))

    @cached_property
    def tool(self) -> Tool:
        """The tool by which the agent's model reads it."""
        return FunctionTool(self._read, name=READ_RESULT, effect="pure", pinned=True)

    def _name(self) -> None:
        """Give handles to results that have none yet: mostly nobody will ask for any."""
        for seen, key in self._unnamed:
            handle = f"{re.sub(r'[^0-9A-Za-z]+', '_', seen.name)[:24]}-{digest(key)[:10]}"
            self._keep(handle, seen.call_id, _Kept(seen.text, seen.origins))
        self._unnamed.clear()

    def _keep(self, handle: str, known_by: str, kept: _Kept) -> None:
        self._kept[handle] = kept
        self._handles[known_by] = handle

    async def _read(
        self,
        handle: Annotated[str, Field(description="as it stands where something was cut or left out")],
        offset: Annotated[int, Field(ge=0, description="the first character to read")] = 0,
        length: Annotated[int, Field(ge=1, le=LONGEST_READING, description="how many characters to read")] = 8_000,
    ) -> str:
        """Read an earlier result, or a long text that you were given, by its handle: a part of it at a time."""
        self._name()
        kept = self._kept.get(handle)
        if kept is None:
            raise ToolFailed(READ_RESULT, f"there is no handle {handle!r}; {there_are(handle, self._kept)}")
        end = min(offset + length, len(kept.text))
        if offset >= len(kept.text):
            return f"[there are only {len(kept.text)} characters]"
        more = f"; offset={end} reads on" if end < len(kept.text) else ", the end"
        return f"{kept.text[offset:end]}\n[characters {offset} to {end} of {len(kept.text)}{more}]"
