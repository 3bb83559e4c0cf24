"""Reading the whole of a result that was shortened."""

import pytest

from orchestrator.lookback import LONGEST_READING, lookback
from registry.calls import NO_CALL
from registry.messages import Json, ToolCall
from registry.tools.calling import call_tool
from registry.tools.registry import ToolRegistry

pytestmark = pytest.mark.anyio

TEXT = "0123456789" * 3_000


@pytest.mark.parametrize(
    ("args", "begins", "ends"),
    [
        ('{"step": "f"}', "0123", "9\n[characters 0 to 8000 of 30000; offset=8000 reads on]"),
        ('{"step": "f", "offset": 29998}', "89\n", "[characters 29998 to 30000 of 30000, the end]"),
        ('{"step": "f", "offset": 30001}', "\n", "[characters 30000 to 30000 of 30000, the end]"),
        ('{"step": "g"}', "'read_step' failed: no result of 'g' was shortened; there are: f", ""),
        (f'{{"step": "f", "length": {LONGEST_READING + 1}}}', "wrong arguments", ""),
    ],
)
async def test_a_part_at_a_time(args: Json, begins: str, ends: str) -> None:
    """With where it stands, and how to go on."""
    seen = await call_tool(ToolRegistry([lookback({"f": TEXT})]), ToolCall(id="1", name="read_step", arguments=args), NO_CALL)

    assert seen.text.startswith(begins)
    assert seen.text.endswith(ends)
