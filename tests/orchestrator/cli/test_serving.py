"""`dagwright serve`: what the command line says of the server."""

import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.cli import serving
from orchestrator.cli.serving import Listening
from orchestrator.server_settings import ServerSettings
from tests.orchestrator.cli.terminal import typed

ROOT = Path(__file__).parents[3]


def test_the_command_line_goes_before_the_file() -> None:
    """What is said holds, what is not said is the file's, and hosts are further ones."""
    file = ServerSettings(host="192.0.2.1", port=80, allowed_hosts=("a",), grace_seconds=5)

    over = Listening(port=0, allowed_hosts=("b",), tls_key=Path("key.pem")).over(file)

    assert file.model_copy(update={"port": 0, "allowed_hosts": ("a", "b"), "tls_key": Path("key.pem")}) == over
    assert file == Listening().over(file)


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence says how to get it."""
    monkeypatch.setattr(serving, "EXTRA", ("no_such_package", "sys"))

    result = typed("serve")

    assert (2, "dagwright: the server needs no_such_package: pip install 'dagwright[server]'\n") == (
        result.exit_code,
        result.stderr,
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "dag.example.org"])
def test_nobody_listens_on_a_network_by_the_way(host: str) -> None:
    """Without TLS it takes a word, and nothing is opened before."""
    result = typed("serve", "--host", host)

    assert result.exit_code == 2
    assert "--allow-unencrypted-tokens" in result.stderr
    assert "the token is in" not in result.stderr


@pytest.mark.parametrize("module", ["orchestrator", "orchestrator.cli.app", "orchestrator.cli.serving", "orchestrator.settings"])
def test_the_server_is_imported_by_nobody_else(module: str) -> None:
    """Whoever does not serve needs nothing of it."""
    heavy = ("fastapi", "starlette", "uvicorn", "httptools", "orchestrator.server")
    code = f"import {module}, sys; print([name for name in {heavy!r} if name in sys.modules])"

    shown = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )

    assert "[]\n" == shown.stdout
