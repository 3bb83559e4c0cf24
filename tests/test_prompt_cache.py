"""The start of a request is the start of the next one, byte for byte: that is what providers keep, and charge less for."""

import json
from itertools import pairwise

import pytest

from orchestrator.agent import ReActAgent
from registry.context import ContextGuard, request_tokens
from registry.messages import Reply, Request
from registry.models.model import Abilities
from registry.testing import Line, ScriptedModel, asks, says
from registry.tools.function import tool
from registry.wire.legal import legal
from registry.wire.lower import lower
from registry.wire.rules import COMPATIBLE

pytestmark = pytest.mark.anyio

LAPS = 30
NATIVE: Abilities = {"tool_call": True}
IN_JSON: Abilities = {"json_mode": True}


@tool(effect="pure")
async def look(page: int) -> str:
    """Look at a page."""
    return f"page {page}: " + "what stands on it " * 40


class Reader:
    """A model that looks at one page a lap, in either dialect, and writes the same summary of whatever went before."""

    def __init__(self, abilities: Abilities) -> None:
        self._native, self._laps = "tool_call" in abilities, 0

    def __call__(self, request: Request) -> Line:
        if request.messages[-1].text.endswith("The summary:"):
            return says("The pages so far say what stands on them.")
        self._laps += 1
        if self._laps == LAPS:
            return says("All read." if self._native else '{"final_answer": "All read."}')
        return self._asks(self._laps)

    def _asks(self, page: int) -> Reply:
        call = {"reasoning": f"now page {page}", "tool_call": {"name": "look", "arguments": {"page": page}}}
        return asks("look", page=page) if self._native else says(json.dumps(call))


def alike(body: bytes, other: bytes) -> int:
    """With how many bytes both begin."""
    return next((at for at, (one, two) in enumerate(zip(body, other, strict=False)) if one != two), min(len(body), len(other)))


async def shared(abilities: Abilities, window: int | None, *, summaries: bool = False) -> float:
    """Of all bytes of the requests but the last, the share with which the next one begins too."""
    model = ScriptedModel(Reader(abilities), abilities=abilities, context_window=window)
    agent = ReActAgent(model, [look], compaction=model if summaries else None)
    result = await agent.run("Read all pages.")
    assert ("All read.", LAPS) == (result.answer, result.iterations)
    asked = [request for request, call in zip(model.requests, model.calls, strict=True) if call.purpose == "step"]
    guard = ContextGuard(window)
    for request in asked:
        legal(request.messages)
        assert guard.budget is None or request_tokens(request.messages, request.tools) <= guard.budget
    bodies = [lower(request, model="m", rules=COMPATIBLE) for request in asked]
    common = sum(alike(*both) for both in pairwise(bodies))
    return common / sum(map(len, bodies[:-1]))


@pytest.mark.parametrize("abilities", [pytest.param(NATIVE, id="native"), pytest.param(IN_JSON, id="json")])
@pytest.mark.parametrize(
    ("window", "summaries", "least"),
    [
        pytest.param(None, False, 0.98, id="no pressure"),
        pytest.param(12_000, False, 0.9, id="old results in a line"),
        pytest.param(6_000, False, 0.7, id="the oldest left out"),
        pytest.param(6_000, True, 0.85, id="summaries"),
    ],
)
async def test_the_start_stays(abilities: Abilities, window: int | None, summaries: bool, least: float) -> None:
    """Over thirty laps, nearly all that was sent is sent again just so; most of it where the window holds only half of them."""
    assert least <= await shared(abilities, window, summaries=summaries)
