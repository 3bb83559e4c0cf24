"""What the commands reach the outside by."""

import signal
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
from anyio.abc import TaskStatus

from orchestrator.cli.ending import say
from orchestrator.errors import JournalDamaged, JournalUnusable
from orchestrator.journal.memory import MemoryJournal
from orchestrator.journal.protocol import Journal
from orchestrator.ports import Ports
from orchestrator.settings import Settings, read_settings
from orchestrator.unwrapping import sole_error
from orchestrator.wiring import wired
from registry.errors import ConfigurationError
from registry.models.registry import ModelRegistry

T = TypeVar("T")


class World:
    """The real one. Tests hand the commands another, as the `obj` of their context."""

    ports = Ports()

    def settings(self, config: Path | None) -> Settings:
        """What the environment and the settings file say."""
        return read_settings(config=config)

    def models(
        self, settings: Settings, model_args: tuple[str, ...], tell: Callable[[str], None] = say
    ) -> AbstractAsyncContextManager[ModelRegistry]:
        """The models, connected for the length of the block."""
        return wired(settings, model_args, self.ports, tell=tell)

    @asynccontextmanager
    async def journal(self, settings: Settings) -> AsyncGenerator[Journal, None]:
        """Where runs are kept, open for the length of the block. Raises `ConfigurationError` when it can't be opened."""
        kept = settings.journal
        if kept.path is None:
            yield MemoryJournal()
            return
        from orchestrator.journal.sqlite import SqliteJournal

        opening = SqliteJournal.open(kept.path, now=self.ports.now, synchronous=kept.synchronous)
        async with AsyncExitStack() as stack:
            try:
                journal = await stack.enter_async_context(opening)
            except (JournalDamaged, JournalUnusable) as error:
                raise ConfigurationError(f"{error}; set DAGWRIGHT_JOURNAL to another file, or to :memory:") from error
            yield journal


def in_a_loop(main: Callable[[], Awaitable[T]]) -> T | None:
    """What `main` returns, or None when a signal ended it.

    Ctrl-C and SIGTERM cancel it, and it cleans up; a second one does not wait for that.
    """
    with sole_error():
        return anyio.run(partial(_until_signalled, main))


async def _until_signalled(main: Callable[[], Awaitable[T]]) -> T | None:
    with sole_error():
        async with anyio.create_task_group() as group:
            await group.start(_cancel_at_first_signal, group.cancel_scope)
            result = await main()
            group.cancel_scope.cancel()
            return result
    return None


async def _cancel_at_first_signal(scope: anyio.CancelScope, *, task_status: TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            scope.cancel()
            return
