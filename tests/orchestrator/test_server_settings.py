"""The `[server]` of the settings file."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from orchestrator.server_settings import ServerSettings


def test_what_holds_where_nothing_is_said() -> None:
    """It listens on this machine alone, and goes by no other names."""
    settings = ServerSettings()

    assert ("127.0.0.1", (), ()) == (settings.host, settings.allowed_hosts, settings.proxies)
    assert settings == settings.beside(Path("/etc"))


def test_files_are_relative_to_a_folder() -> None:
    """What is absolute stays, and so does what is nowhere."""
    settings = ServerSettings.model_validate({"tenants": "tenants.toml", "tls_certificate": "/certificates/server.pem"})

    beside = settings.beside(Path("/etc/dagwright"))
    assert (Path("/etc/dagwright/tenants.toml"), Path("/certificates/server.pem"), None) == (
        beside.tenants,
        beside.tls_certificate,
        beside.tls_key,
    )


@pytest.mark.parametrize(
    "table",
    [
        pytest.param({"port": 65536}, id="no port"),
        pytest.param({"port": "80"}, id="a text for a number"),
        pytest.param({"host": ""}, id="no host"),
        pytest.param({"allowed_hosts": "a"}, id="a text for a list"),
        pytest.param({"tenants": ""}, id="no file"),
        pytest.param({"grace_seconds": 0}, id="no time"),
        pytest.param({"streams": 0}, id="no streams"),
        pytest.param({"token": "t" * 40}, id="a token, which never stands in a file"),
    ],
)
def test_what_is_refused(table: dict[str, object]) -> None:
    """Nothing is guessed."""
    with pytest.raises(ValidationError):
        ServerSettings.model_validate(table)
