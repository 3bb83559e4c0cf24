"""Every journal keeps the contract."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from orchestrator.journal.memory import MemoryJournal
from orchestrator.journal.protocol import Journal
from tests.contracts.journal import JournalContract

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def in_memory() -> AsyncIterator[Journal]:
    yield MemoryJournal()


class TestJournals(JournalContract):
    @pytest.fixture(params=[pytest.param(in_memory, id="memory")])
    def journals(self, request: pytest.FixtureRequest) -> AbstractAsyncContextManager[Journal]:
        journal: AbstractAsyncContextManager[Journal] = request.param()
        return journal
