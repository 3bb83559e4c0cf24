"""`dagwright serve`: what the command line says of the server, and whether there is what it needs."""

from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from orchestrator.cli.options import Options
from orchestrator.cli.world import World
from orchestrator.server_settings import ServerSettings
from registry.errors import ConfigurationError

EXTRA = ("fastapi", "uvicorn", "httptools")
"""What the server is made of, besides what is always installed."""


class Listening(Struct, frozen=True, kw_only=True):
    """None, and no hosts, leave it to the settings file. `unencrypted` allows tokens to cross a network as they are."""

    host: str | None = None
    port: int | None = None
    allowed_hosts: tuple[str, ...] = ()
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    grace_seconds: float | None = None
    unencrypted: bool = False

    def over(self, settings: ServerSettings) -> ServerSettings:
        """The settings, but for what is said here. Hosts are further ones."""
        names = ("host", "port", "tls_certificate", "tls_key", "grace_seconds")
        said = {name: value for name in names if (value := getattr(self, name)) is not None}
        return settings.model_copy(update={**said, "allowed_hosts": (*settings.allowed_hosts, *self.allowed_hosts)})


def serve_asked(world: World, options: Options, listening: Listening) -> int:
    """Serves until a signal comes. Returns the exit code. Raises `ConfigurationError` before anything is opened."""
    if missing := [name for name in EXTRA if find_spec(name) is None]:
        raise ConfigurationError(f"the server needs {', '.join(missing)}: pip install 'dagwright[server]'")
    from orchestrator.cli.hosting import host

    settings = world.settings(options.config)
    return host(world, settings, options, listening.over(settings.server), unencrypted=listening.unencrypted)
