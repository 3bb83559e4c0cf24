"""The whole of what the steps before found, for an agent that was shown a part of it."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from registry.errors import ToolFailed, there_are
from registry.tools.function import FunctionTool
from registry.tools.tool import Tool

READ_STEP = "read_step"
LONGEST_READING = 15_000
"""Characters that one reading gives at most."""


def lookback(outputs: Mapping[str, str]) -> Tool:
    """A tool that reads the outputs of these steps, a part at a time. Their origins are the task's own already."""

    async def read_step(
        step: Annotated[str, Field(description="the name that stands above its result")],
        offset: Annotated[int, Field(ge=0, description="the first character to read")] = 0,
        length: Annotated[int, Field(ge=1, le=LONGEST_READING, description="how many characters to read")] = 8_000,
    ) -> str:
        """Read the whole result of a step that was shown to you with a part left out: so many characters at a time."""
        if step not in outputs:
            raise ToolFailed(READ_STEP, f"no result of {step!r} was shortened; {there_are(step, outputs)}")
        text = outputs[step]
        end = min(offset + length, len(text))
        more = f"; offset={end} reads on" if end < len(text) else ", the end"
        return f"{text[offset:end]}\n[characters {min(offset, end)} to {end} of {len(text)}{more}]"

    return FunctionTool(read_step, name=READ_STEP, effect="pure", pinned=True, trusted=True)
