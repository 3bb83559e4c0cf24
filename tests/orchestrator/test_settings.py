"""Settings: the environment and one TOML file, read once and strictly."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from orchestrator.limits import Limits
from orchestrator.settings import Settings, read_settings, token_file
from registry.errors import ConfigurationError
from registry.models.prices import Price


def written(folder: Path, text: str, name: str = "dagwright.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_an_empty_world_has_defaults(tmp_path: Path) -> None:
    """Nothing set and no file: no model, no key, the limits of the engine."""
    assert Settings(limits=Limits()) == read_settings({"DAGWRIGHT_JOURNAL": ":memory:"}, folder=tmp_path)


def test_the_environment_of_the_process_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an environment given, it is the process's own, at the moment of the call."""
    monkeypatch.setenv("OPENAI_MODEL", "gpt-x")

    assert read_settings(folder=tmp_path).model == "gpt-x"


@pytest.mark.parametrize(
    ("environ", "field", "expected"),
    [
        pytest.param({"OPENAI_BASE_URL": " http://h/v1 "}, "base_url", "http://h/v1", id="address"),
        pytest.param({"OPENAI_BASE_URL": ""}, "base_url", None, id="empty address"),
        pytest.param({"OPENAI_MODEL": "gpt-x"}, "model", "gpt-x", id="model"),
        pytest.param({"OPENAI_MODEL": " "}, "model", None, id="blank model"),
        pytest.param({"OPENAI_API_KEY": "  "}, "keys", {}, id="blank key"),
    ],
)
def test_variables(environ: dict[str, str], field: str, expected: Any, tmp_path: Path) -> None:
    """Each variable has its place; an empty one counts as not set."""
    assert expected == getattr(read_settings(environ, folder=tmp_path), field)


def test_a_key_is_kept_and_never_shown(tmp_path: Path) -> None:
    """Keys are secrets: they can be had, but not by printing the settings."""
    settings = read_settings({"OPENAI_API_KEY": " sk-secret\n"}, folder=tmp_path)

    assert settings.keys["OPENAI_API_KEY"].get_secret_value() == "sk-secret"
    assert "sk-secret" not in repr(settings)


def test_the_file_names_variables_that_hold_keys(tmp_path: Path) -> None:
    """The key of a model is looked up under the name that the file gives; other variables are left alone."""
    path = written(tmp_path, '[models.big]\nprovider = "openai"\napi_key_env = "BIG_KEY"')

    settings = read_settings({"BIG_KEY": "a", "OTHER_KEY": "b"}, config=path)

    assert list(settings.keys) == ["BIG_KEY"]


def test_prices_and_caps_of_a_model(tmp_path: Path) -> None:
    """Money is read to the digit that was written, in dollars for a million tokens; tokens are whole."""
    path = written(
        tmp_path,
        """
        [models.big]
        provider = "anthropic"
        max_output = 8192
        thinking = 2048
        price = { input = 3, output = 0.1, cache_read = 0.30, cache_write = 3.75 }
        [models.mine]
        provider = "openai"
        price_as = "openai:gpt-4o"
        """,
    )

    models = read_settings({}, config=path).models

    assert (8192, 2048) == (models["big"].max_output, models["big"].thinking)
    assert models["big"].own_price == Price(
        input=Decimal(3), output=Decimal("0.1"), cache_read=Decimal("0.3"), cache_write=Decimal("3.75")
    )
    assert ("openai:gpt-4o", None) == (models["mine"].price_as, models["mine"].own_price)


def test_the_file_in_full(tmp_path: Path) -> None:
    """Models, roles with and without a second model, and limits."""
    path = written(
        tmp_path,
        """
        [models.big]
        provider = "openai"
        model = "gpt-4o"
        base_url = "https://big.example/v1"
        context_window = 1000
        max_concurrency = 3
        requests_per_minute = 500
        tokens_per_minute = 200000
        abilities = { tool_call = false }
        [roles]
        planning = "big"
        general = ["big", "local"]
        [limits]
        step_seconds = 30
        rounds = 1
        tool_width = 4
        """,
    )

    settings = read_settings({}, config=path)

    assert settings.models["big"].model_dump(exclude_none=True) == {
        "provider": "openai",
        "model": "gpt-4o",
        "base_url": "https://big.example/v1",
        "context_window": 1000,
        "max_concurrency": 3,
        "requests_per_minute": 500,
        "tokens_per_minute": 200_000,
        "abilities": {"tool_call": False},
    }
    assert settings.roles == {"planning": ("big",), "general": ("big", "local")}
    assert settings.limits == Limits(step_seconds=30, rounds=1, tool_width=4)


@pytest.mark.parametrize(
    ("environ", "config", "expected"),
    [
        pytest.param({}, None, "folder", id="dagwright.toml of the folder"),
        pytest.param({"DAGWRIGHT_CONFIG": "named.toml"}, None, "named", id="the environment's"),
        pytest.param({"DAGWRIGHT_CONFIG": "absent.toml"}, "given.toml", "given", id="the command line's"),
    ],
)
def test_which_file_is_read(environ: dict[str, str], config: str | None, expected: str, tmp_path: Path) -> None:
    """The command line's choice comes before the environment's, and that before the folder's."""
    for name in ("named", "given"):
        written(tmp_path, f'[roles]\ngeneral = "{name}"', f"{name}.toml")
    written(tmp_path, '[roles]\ngeneral = "folder"')
    environ = {key: str(tmp_path / name) for key, name in environ.items()}

    settings = read_settings(environ, config=tmp_path / config if config else None, folder=tmp_path)

    assert settings.roles == {"general": (expected,)}


@pytest.mark.parametrize(
    ("environ", "text", "expected"),
    [
        pytest.param({"HOME": "/h"}, "", "/h/.local/state/dagwright/journal.sqlite3", id="the usual place"),
        pytest.param({"HOME": "/h", "XDG_STATE_HOME": "/s"}, "", "/s/dagwright/journal.sqlite3", id="the state folder"),
        pytest.param({"HOME": "/h", "XDG_STATE_HOME": "s"}, "", "/h/.local/state/dagwright/journal.sqlite3", id="a relative one"),
        pytest.param({}, "[journal]\npath = 'runs.db'", "FOLDER/runs.db", id="beside the file that names it"),
        pytest.param({}, "[journal]\npath = '/x/runs.db'", "/x/runs.db", id="the file's"),
        pytest.param({"DAGWRIGHT_JOURNAL": "/e.db"}, "[journal]\npath = '/x/runs.db'", "/e.db", id="the environment's"),
        pytest.param({}, "[journal]\npath = ':memory:'", None, id="in memory"),
        pytest.param({"DAGWRIGHT_JOURNAL": ":memory:"}, "[journal]\npath = '/x/runs.db'", None, id="in memory after all"),
    ],
)
def test_where_runs_are_kept(environ: dict[str, str], text: str, expected: str | None, tmp_path: Path) -> None:
    """The environment comes before the file, and that before the folder for such things of whoever is at work."""
    written(tmp_path, text)

    path = read_settings(environ, folder=tmp_path).journal.path

    assert (expected and Path(expected.replace("FOLDER", str(tmp_path)))) == path


def test_how_runs_are_kept(tmp_path: Path) -> None:
    """Nothing is lost in a power cut, unless the file says that speed matters more."""
    path = written(tmp_path, "[journal]\nsynchronous = 'normal'")

    assert "full" == read_settings({}, folder=tmp_path / "absent").journal.synchronous
    assert "normal" == read_settings({}, config=path).journal.synchronous


def test_nobody_s_home_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no folder to keep runs in, the sentence says what to set."""

    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", homeless)

    with pytest.raises(ConfigurationError, match="set DAGWRIGHT_JOURNAL to a file"):
        read_settings({}, folder=tmp_path)


def test_the_file_that_was_read_is_known(tmp_path: Path) -> None:
    """With its whole path, wherever one goes from here."""
    path = written(tmp_path, "")

    assert path == read_settings({}, folder=tmp_path).file
    assert read_settings({}, folder=tmp_path / "absent").file is None


def test_what_a_run_may_take(tmp_path: Path) -> None:
    """The same names as in Python and on the command line; money as it is written."""
    path = written(
        tmp_path,
        """
        [limits]
        max_requests = 100
        max_tokens = 50000
        max_cost = 0.1
        max_seconds = 60
        unpriced = "allow"
        """,
    )
    settings = read_settings({}, config=path)

    assert Limits(max_requests=100, max_tokens=50_000, max_cost=Decimal("0.1"), max_seconds=60) == settings.limits
    assert ("allow", "refuse") == (settings.unpriced, read_settings({}, folder=tmp_path / "absent").unpriced)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("[limits]\nmax_cost = 0", "'limits.max_cost': Input should be greater than 0", id="no money"),
        pytest.param("[limits]\nmax_cost = '1'", "'limits.max_cost'", id="money as text"),
        pytest.param("[limits]\nmax_request = 5", "did you mean 'max_requests'?", id="a limit misspelt"),
        pytest.param("[limits]\nunpriced = 'maybe'", "'limits.unpriced'", id="no such policy"),
        pytest.param("[limits]\nstep_secnds = 3", "'limits.step_secnds'; did you mean 'step_seconds'?", id="unknown limit"),
        pytest.param("[role]\na = 'b'", "'role'; did you mean 'roles'?", id="unknown table"),
        pytest.param("[models.a]\nprovider = 'x'\napi_key = 'sk-1'", "did you mean 'api_key_env'?", id="a key in the file"),
        pytest.param("[models.a]\nmodel = 'x'", "'models.a.provider': Field required", id="no provider"),
        pytest.param("[models.a]\nprovider = 'x'\ncontext_window = 0", "'models.a.context_window'", id="no window"),
        pytest.param("[models.a]\nprovider = 'x'\nabilities = {fly = true}", "'models.a.abilities.fly", id="unknown ability"),
        pytest.param(
            "[models.a]\nprovider = 'x'\nprice = {input = 1, output = 2, cache_reed = 1}",
            "'models.a.price.cache_reed'; did you mean 'cache_read'?",
            id="unknown price",
        ),
        pytest.param("[models.a]\nprovider = 'x'\nprice = {input = 1}", "'models.a.price.output': Field", id="half a price"),
        pytest.param("[models.a]\nprovider = 'x'\nprice = {input = -1, output = 1}", "'models.a.price.input'", id="negative"),
        pytest.param("[models.a]\nprovider = 'x'\nprice = {input = nan, output = 1}", "'models.a.price.input'", id="no number"),
        pytest.param("[models.a]\nprovider = 'x'\nprice = {input = '1', output = 1}", "'models.a.price.input'", id="text"),
        pytest.param("[models.a]\nprovider = 'x'\nprice = {input = true, output = 1}", "'models.a.price.input'", id="a truth"),
        pytest.param("[models.a]\nprovider = 'x'\nthinking = 0", "'models.a.thinking'", id="no thinking"),
        pytest.param("[models.a]\nprovider = 'x'\npryce = 1", "did you mean 'price'?", id="a price misspelt"),
        pytest.param("[limits]\ntool_width = 0", "'limits.tool_width': Input should be greater than 0", id="no width"),
        pytest.param("[limits]\nrounds = 0", "'limits.rounds': Input should be greater than 0", id="no rounds"),
        pytest.param("[limits]\nrounds = '3'", "'limits.rounds': Input should be a valid integer", id="text for a number"),
        pytest.param("[roles]\na = []", "'roles.a'", id="a role of nobody"),
        pytest.param(
            "[journal]\nsynchronus = 'full'", "'journal.synchronus'; did you mean 'synchronous'?", id="unknown to the journal"
        ),
        pytest.param("[journal]\nsynchronous = 'off'", "'journal.synchronous'", id="no such synchronous"),
        pytest.param("[journal]\npath = ''", "'journal.path'", id="no path"),
        pytest.param("x =", "is not TOML", id="no TOML"),
    ],
)
def test_a_wrong_file_is_told_apart(text: str, told: str, tmp_path: Path) -> None:
    """The sentence names file and setting, suggests the nearest name, and never shows a value."""
    path = written(tmp_path, text)

    with pytest.raises(ConfigurationError) as refused:
        read_settings({}, config=path)

    assert told in str(refused.value)
    assert str(path) in str(refused.value)
    assert "sk-1" not in str(refused.value)


def test_an_absent_file_is_told(tmp_path: Path) -> None:
    """A file that was asked for must be there."""
    with pytest.raises(ConfigurationError, match=r"absent\.toml can't be read: No such file"):
        read_settings({}, config=tmp_path / "absent.toml")


def test_the_server_of_the_file(tmp_path: Path) -> None:
    """Files are relative to the settings file, and the token comes from the environment alone."""
    path = written(tmp_path, '[server]\nport = 80\ntenants = "tenants.toml"\nallowed_hosts = ["dag.example.org"]')

    settings = read_settings({"DAGWRIGHT_TOKEN": " t0ken\n"}, config=path)

    assert (80, tmp_path / "tenants.toml", ("dag.example.org",)) == (
        settings.server.port,
        settings.server.tenants,
        settings.server.allowed_hosts,
    )
    assert settings.token is not None
    assert settings.token.get_secret_value() == "t0ken"
    assert "t0ken" not in repr(settings)


def test_no_setting_of_the_server_is_guessed(tmp_path: Path) -> None:
    """A wrong name is told with the nearest right one."""
    with pytest.raises(ConfigurationError, match=r"'server\.alowed_hosts'; did you mean 'allowed_hosts'"):
        read_settings({}, config=written(tmp_path, "[server]\nalowed_hosts = []"))


def test_where_a_token_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Among what programs keep for a user; a user without a home has to say one."""
    assert tmp_path / "dagwright" / "server-token" == token_file({"XDG_STATE_HOME": str(tmp_path)})
    assert tmp_path / ".local" / "state" / "dagwright" / "server-token" == token_file({"HOME": str(tmp_path)})

    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(ConfigurationError, match="DAGWRIGHT_TOKEN"):
        token_file({})
