"""The script of benchmarks/servers.py, against our stand-in and against the embedded model."""

import pytest

from benchmarks.servers import embedded, seen, served, stand_in
from orchestrator import connect
from registry import HttpDoor
from registry.local.weights import LocalModelMissing

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.real_clock,
    pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True),  # aiohttp serves the stand-in
]


async def test_native_tools_where_they_are_honoured() -> None:
    """A server that honours tools is spoken to natively, by the agent and by the structured call."""
    async with stand_in() as url, HttpDoor() as door:
        found = await served(url, door)

    assert () == found.faults
    assert ("native", ("lamp",), "native", 1) == (found.dialect, found.asked, found.order.rung, found.order.attempts)
    assert {"colour": "red", "amount": 3} == found.order.value
    assert "There are so many: lamp: 37." == found.agent.answer
    assert "one two three four five " == found.reply.text


async def test_a_server_that_ignores_tools_is_told_apart() -> None:
    """Where tools are offered and ignored, the script says so, and the structured call steps down to JSON."""
    async with stand_in(honours_tools=False) as url, HttpDoor() as door:
        found = await seen(url, connect("openai:stand-in", base_url=url, door=door))

    assert ("none", (), "json") == (found.dialect, found.asked, found.order.rung)
    assert (
        "the tool was never called",
        "the agent's dialect should be native",
        "the agent did not come to the right answer",
        "the structured call should end on the native rung",
    ) == found.faults


async def test_the_embedded_model_keeps_to_its_schemas() -> None:
    """The embedded model calls the tool in the JSON dialect, and gives the structured value on the JSON rung."""
    async with HttpDoor() as door:
        try:
            found = await embedded(door)
        except LocalModelMissing as missing:
            pytest.skip(str(missing))

    assert () == found.faults
    assert ("json", "json") == (found.dialect, found.order.rung)
