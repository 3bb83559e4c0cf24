"""What runs are done with, and how the server is."""

import pytest

from orchestrator import MemoryJournal
from orchestrator.journal.protocol import Outline
from orchestrator.server.app import create_app
from registry.models.registry import ModelRegistry
from registry.testing import ScriptedModel
from registry.tools.function import tool
from tests.orchestrator.server.driving import served, service_of

pytestmark = pytest.mark.anyio


async def test_models_with_their_roles() -> None:
    """And what they can do."""
    models = ModelRegistry([ScriptedModel([], name="big", context_window=9), ScriptedModel([], name="small")], {"fast": "small"})
    async with served(service_of(models)) as caller:
        big, small = (await caller.get("/v1/models")).json

    assert ("big", 9, True) == (big["name"], big["context_window"], big["abilities"]["tool_call"])
    assert ("small", ["fast"], None) == (small["name"], small["roles"], small["context_window"])


async def test_tools_with_their_effects() -> None:
    """And whether a person is asked first."""

    @tool(effect="keyed", requires_approval=True)
    def send(text: str) -> str:
        """Send it."""
        return text

    async with served(service_of(tools=[send])) as caller:
        (shown,) = (await caller.get("/v1/tools")).json

    assert ("send", "Send it.", "keyed", True) == tuple(
        shown[name] for name in ("name", "description", "effect", "requires_approval")
    )
    assert ["text"] == list(shown["parameters"]["properties"])


async def test_health_before_and_after() -> None:
    """A server that has not looked at its journal yet is not ready."""

    class Unreadable(MemoryJournal):
        async def outlines(self, prefix: str, **given: object) -> tuple[Outline, ...]:  # type: ignore[override]
            import anyio

            await anyio.sleep(5)
            return ()

    async with served(service_of(journal=Unreadable())) as caller:
        import anyio

        early = await caller.get("/health")
        await anyio.sleep(6)
        late = await caller.get("/health")

    assert [(503, {"status": "starting"}), (200, {"status": "ok"})] == [(each.status, each.json) for each in (early, late)]


async def test_all_that_health_may_answer_is_described() -> None:
    """Those who go by another name, or come from a page elsewhere, are refused here too."""
    answers = create_app(service_of()).openapi()["paths"]["/health"]["get"]["responses"]

    assert {"200", "400", "403", "408", "413", "421", "503"} == answers.keys()
