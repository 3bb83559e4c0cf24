"""The life of a server process: its keys, what it serves, and its end."""

import secrets
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import anyio
from anyio.abc import TaskStatus

from orchestrator.cli.ending import ACHIEVED, INTERRUPTED, say
from orchestrator.cli.limiting import limits_for, only_embedded
from orchestrator.cli.options import Options
from orchestrator.cli.toolbox import toolbox
from orchestrator.cli.world import World
from orchestrator.logs import show_logs
from orchestrator.server.app import create_app
from orchestrator.server.binding import bound, make_room, refuse_exposed, tls_of
from orchestrator.server.guard import Guard, GuardLimits, Hosts, Keys, kept_token, read_tenants, sole_grant
from orchestrator.server.login import login_routes
from orchestrator.server.service import Service
from orchestrator.server.serving import Serving, serve
from orchestrator.server_settings import ServerSettings
from orchestrator.settings import Settings, token_file
from orchestrator.unwrapping import sole_error
from registry.builtin import file_tools
from registry.tools.registry import ToolRegistry


def host(world: World, settings: Settings, options: Options, server: ServerSettings, *, unencrypted: bool) -> int:
    """Serves until a signal comes, and lets runs come to rest; a second signal ends it at once. Returns the exit code.

    Raises `ConfigurationError`.
    """
    tls = None if server.tls_certificate is None else tls_of(server.tls_certificate, server.tls_key)
    refuse_exposed(server.host, encrypted=tls is not None, allowed=unencrypted)
    if options.verbose:
        show_logs()
    keys, tools = keys_of(world, settings, server), tools_of(world, options)
    make_room()

    async def serving(stop: anyio.Event) -> None:
        sockets = bound(server.host, server.port)
        limits = limits_for(settings, options)
        async with (
            world.journal(settings) as journal,
            world.models(settings, options.models, say) as models,
            Service(models, tools, journal=journal, limits=limits, ports=world.ports) as service,
        ):
            app = create_app(service)
            app.include_router(login_routes(keys))
            guard = Guard(app, keys=keys, hosts=Hosts.of(server.host, server.allowed_hosts), limits=limits_of(server))
            say(f"serving on {'http' if tls is None else 'https'}://{_authority(server.host, sockets[0].getsockname()[1])}")
            how = Serving(tls=tls, grace=server.grace_seconds, proxies=server.proxies)
            await serve(guard, sockets, how, stop=stop, drain=service.drain)

    with sole_error():
        return anyio.run(partial(_until_signalled, serving))


def limits_of(server: ServerSettings) -> GuardLimits:
    """Those of the settings; at once a tenant may ask for what it may in four seconds."""
    rate = server.requests_per_second
    return GuardLimits(rate=rate, burst=4 * rate, streams=server.streams)


def keys_of(world: World, settings: Settings, server: ServerSettings) -> Keys:
    """Those of the file of tenants and of the environment; where there are none, the one that is kept, drawn if need be.

    A token that was drawn is shown on a terminal, this once, and nowhere else.
    """
    grants = {} if server.tenants is None else dict(read_tenants(server.tenants))
    if settings.token is not None:
        grants.update(sole_grant(settings.token, "DAGWRIGHT_TOKEN"))
    if not grants:
        path = token_file()
        token, is_new = kept_token(path, partial(secrets.token_urlsafe, 32))
        grants.update(sole_grant(token, str(path)))
        say(f"the token is in {path}")
        if is_new and sys.stderr.isatty():
            say(f"it is shown this once: {token.get_secret_value()}")
    return Keys(grants, now=world.ports.now, draw=partial(secrets.token_urlsafe, 16))


def tools_of(world: World, options: Options) -> ToolRegistry:
    """Those of the command line; files can be read only where a folder for that is named, for who asks is elsewhere."""
    asking = not only_embedded(options)
    tools = toolbox(options.tools, options.root or Path(), world.ports, options.folder, asking=asking)
    if options.root is not None:
        return tools
    of_files = {tool.spec.name for tool in file_tools(Path())}
    return ToolRegistry(tool for tool in tools if tool.spec.name not in of_files)


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def _until_signalled(serving: Callable[[anyio.Event], Awaitable[None]]) -> int:
    stop = anyio.Event()
    async with anyio.create_task_group() as group:
        await group.start(_stop_at_signals, stop, group.cancel_scope)
        await serving(stop)
        group.cancel_scope.cancel()
        return ACHIEVED
    return INTERRUPTED


async def _stop_at_signals(stop: anyio.Event, scope: anyio.CancelScope, *, task_status: TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            if stop.is_set():
                scope.cancel()
                return
            say("runs come to rest; a second signal ends it at once")
            stop.set()
