"""The life of a server process."""

import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio
import httpx
import pytest
from pydantic import SecretStr

from orchestrator.cli import hosting
from orchestrator.cli.hosting import keys_of, tools_of
from orchestrator.cli.options import Options
from orchestrator.server.guard import Grant
from orchestrator.server.guard.secret_files import write_private
from orchestrator.server.guard.tokens import digest_of
from orchestrator.server_settings import ServerSettings
from orchestrator.settings import Settings
from registry.errors import ConfigurationError
from tests.orchestrator.cli.terminal import ScriptedWorld, greets
from tests.orchestrator.cli.test_program import started

TOKEN, OTHER = "t" * 40, "o" * 40


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tokens are kept here."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "dagwright"


def granted(settings: Settings, server: ServerSettings, tokens: Mapping[str, str]) -> dict[str, Grant | None]:
    keys = keys_of(ScriptedWorld(greets()), settings, server)
    return {name: keys.show(token, "peer", 0) for name, token in tokens.items()}


def test_the_token_of_the_environment(state: Path) -> None:
    """It is the only one, and none is drawn."""
    found = granted(Settings(token=SecretStr(TOKEN)), ServerSettings(), {"set": TOKEN, "other": OTHER})

    assert {"set": Grant(tenant="default"), "other": None} == found
    assert not state.exists()


def test_tokens_of_tenants(tmp_path: Path) -> None:
    """Those of the file and that of the environment hold together."""
    write_private(tmp_path / "tenants.toml", f"[tenants.harbour]\ntoken_sha256 = '{digest_of(OTHER).hex()}'")
    server = ServerSettings(tenants=tmp_path / "tenants.toml")

    assert {"file": Grant(tenant="harbour"), "set": None} == granted(Settings(), server, {"file": OTHER, "set": TOKEN})
    both = granted(Settings(token=SecretStr(TOKEN)), server, {"file": OTHER, "set": TOKEN})
    assert {"file": Grant(tenant="harbour"), "set": Grant(tenant="default")} == both


@pytest.mark.parametrize("on_a_terminal", [True, False])
def test_a_token_is_drawn_and_shown_once(
    on_a_terminal: bool, state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal alone: what goes elsewhere may be a log. It can be read in its file."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: on_a_terminal)
    keys = keys_of(ScriptedWorld(greets()), Settings(), ServerSettings())
    token, first = (state / "server-token").read_text().strip(), capsys.readouterr().err
    keys_of(ScriptedWorld(greets()), Settings(), ServerSettings())
    again = capsys.readouterr().err

    assert keys.show(token, "peer", 0) == Grant(tenant="default")
    assert (on_a_terminal, False) == (token in first, token in again)
    assert all(str(state / "server-token") in told for told in (first, again))
    assert 0o600 == (state / "server-token").stat().st_mode & 0o777


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        pytest.param(Settings(token=SecretStr("short")), "DAGWRIGHT_TOKEN must have 32", id="a short one that is set"),
        pytest.param(Settings(), "server-token must have 32", id="a short one that was kept"),
    ],
)
def test_short_tokens_are_refused(settings: Settings, why: str, state: Path) -> None:
    """The sentence says where it is from."""
    write_private(state / "server-token", "short")

    with pytest.raises(ConfigurationError, match=why):
        keys_of(ScriptedWorld(greets()), settings, ServerSettings())


def test_files_are_read_where_a_folder_is_named(tmp_path: Path) -> None:
    """Who asks is elsewhere: the folder that the server was started in is none of theirs."""
    world = ScriptedWorld(greets())

    without, beside = tools_of(world, Options()), tools_of(world, Options(root=tmp_path))

    assert {"read_file", "list_files"} == set(beside.names) - set(without.names)
    assert {"calculator", "ask_user"} <= set(without.names)


@pytest.mark.real_clock
def test_a_second_signal_ends_it_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """The first one is for coming to rest."""
    seen = []

    async def serving(stop: anyio.Event) -> None:
        signal.raise_signal(signal.SIGTERM)
        await stop.wait()
        seen.append("stopped")
        signal.raise_signal(signal.SIGINT)
        await anyio.sleep_forever()

    assert 130 == anyio.run(hosting._until_signalled, serving)
    assert (["stopped"], "come to rest") == (seen, capsys.readouterr().err.strip()[16:28])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_program_serves_until_a_signal(number: signal.Signals, tmp_path: Path) -> None:
    """It says where, asks for the token, and ends with 0."""
    environ = {"DAGWRIGHT_TOKEN": TOKEN, "OPENAI_API_KEY": "sk-1"}
    with started("serve", "--port", "0", folder=tmp_path, environ=environ) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "serving on " in line:
                break
        assert lines, "it has not begun"
        url = lines[-1].split("serving on ")[1].strip()
        with httpx.Client(base_url=url, headers={"authorization": f"Bearer {TOKEN}"}) as client:
            health, runs = client.get("/health"), client.get("/v1/runs")
        process.send_signal(number)
        _, err = process.communicate(timeout=30)

    assert health.json()["status"] in ("starting", "ok")
    assert [] == runs.json()["runs"]
    assert (0, False) == (process.returncode, "Traceback" in err)
    assert TOKEN not in "".join(lines) + err


def test_an_address_that_is_not_ours(tmp_path: Path) -> None:
    """It is told in one sentence."""
    environ = {"DAGWRIGHT_TOKEN": TOKEN, "OPENAI_API_KEY": "sk-1"}
    with started("serve", "--host", "192.0.2.1", "--allow-unencrypted-tokens", folder=tmp_path, environ=environ) as process:
        _, err = process.communicate(timeout=30)

    assert process.returncode == 2
    assert err.startswith("dagwright: nothing can listen on 192.0.2.1 port 8321: ")
