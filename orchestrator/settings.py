"""Settings: what the environment and one TOML file say. Nothing else in dagwright reads the environment.

    OPENAI_API_KEY     the key of the default endpoint
    OPENAI_BASE_URL    its address, https://api.openai.com/v1 where it isn't set; an endpoint of one's own may need no key
    OPENAI_MODEL       the model to ask there
    ANTHROPIC_API_KEY  the key of Anthropic, for models such as anthropic:claude-sonnet-4-5; where it is the only one set,
                       Anthropic's is the model that is asked
    DAGWRIGHT_CONFIG   the TOML file to read instead of `dagwright.toml` in the working folder
    DAGWRIGHT_JOURNAL  the file in which runs are kept, or :memory: to keep none; before `journal.path` of the TOML file
    DAGWRIGHT_TOKEN    the token that the server asks for; where it isn't set, the server draws one and keeps it in a file

The file names further models, who plays which role, the limits of a run, where runs are kept, and how they are served:

    [models.big]
    provider = "openai"            # or anthropic, ollama, lmstudio, llamacpp, vllm, local
    model = "gpt-4o"
    base_url = "https://..."       # another endpoint than the provider's own
    api_key_env = "BIG_KEY"        # the environment variable that holds the key: keys never stand in a file
    context_window = 128000        # in tokens
    max_concurrency = 8            # requests at a time
    requests_per_minute = 500      # where these are not set, what the endpoint says in its answers holds
    tokens_per_minute = 200000
    abilities = { tool_call = true, json_mode = true, json_schema = false }
    max_output = 8192              # tokens of a reply, where nothing else caps it: for models of anthropic
    thinking = 4096                # tokens that it may think besides: for models of anthropic
    price = { input = 2.5, output = 10, cache_read = 1.25 }    # dollars for a million tokens, where the known price is wrong
    price_as = "openai:gpt-4o"     # or: the model that charges the same, for a deployment with a name of its own

    [roles]
    planning = "big"
    general = ["openai:gpt-4o-mini", "big"]    # the second where the first can't be had

    [limits]                       # the fields of `orchestrator.limits.Limits`
    step_seconds = 300
    max_requests = 100             # what a whole run may take; there are max_tokens, max_cost (dollars) and max_seconds, too
    unpriced = "allow"             # with max_cost: models may be asked, too, that nobody knows the price of; else "refuse"

    [journal]
    path = "runs.sqlite3"          # relative to this file; ~/.local/state/dagwright/journal.sqlite3 where nothing is said
    synchronous = "normal"         # faster, and a power cut may take the last moments of a run; "full" keeps all of it

    [server]                       # the fields of `ServerSettings`; files are relative to this file
    allowed_hosts = ["dagwright.example.org"]
    tls_certificate = "server.pem"
    tenants = "tenants.toml"       # tokens, see `orchestrator.server.guard.tokens`
"""

import os
import tomllib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Struct, field
from msgspec.structs import fields
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PositiveInt, SecretStr, ValidationError, create_model

from orchestrator.limits import Limits
from orchestrator.server_settings import ServerSettings
from registry.budget import WhenUnpriced
from registry.errors import ConfigurationError, there_are
from registry.models.prices import Price

CONFIG_FILE = "dagwright.toml"

IN_MEMORY = ":memory:"
"""The path of a journal that keeps nothing beyond the process."""

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
"""The environment variables that hold the keys of providers."""

_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True)


def _decimal(value: object) -> object:
    """A number of the file as it was written: 0.1 is a tenth, and not the nearest binary fraction."""
    return Decimal(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else value


Dollars = Annotated[Decimal, BeforeValidator(_decimal), Field(ge=0)]


class PriceSettings(BaseModel):
    """A `price`, in US dollars for a million tokens. Without prices of their own, cached tokens cost what the input does."""

    model_config = _STRICT

    input: Dollars
    output: Dollars
    cache_read: Dollars | None = None
    cache_write: Dollars | None = None


class ModelSettings(BaseModel):
    """One `[models.NAME]` of the file. What it leaves out is the provider's own, or what is known of the model."""

    model_config = _STRICT

    provider: str
    model: str = ""
    base_url: str | None = None
    api_key_env: str | None = None
    context_window: PositiveInt | None = None
    abilities: dict[Literal["tool_call", "json_mode", "json_schema"], bool] = {}
    max_concurrency: PositiveInt | None = None
    requests_per_minute: PositiveInt | None = None
    tokens_per_minute: PositiveInt | None = None
    max_output: PositiveInt | None = None
    thinking: PositiveInt | None = None
    price: PriceSettings | None = None
    price_as: str | None = None

    @property
    def own_price(self) -> Price | None:
        """The price as the models' layers know it."""
        return None if self.price is None else Price(**self.price.model_dump())


class JournalSettings(Struct, frozen=True, kw_only=True):
    """`path` is None for a journal in memory. A power cut takes nothing from a "full" one, from a "normal" one its end."""

    path: Path | None = None
    synchronous: Literal["full", "normal"] = "full"


class Settings(Struct, frozen=True, kw_only=True):
    """`keys` go by their environment variables, those that are set. `base_url` and `model` are the default endpoint's.

    `models` go by the name that the file gives them. `roles` names each role's model, and after it those to fall back on.
    `token` is the one that the server asks for.
    `file` is the settings file that was read, None where there is none.
    """

    keys: Mapping[str, SecretStr] = field(default_factory=dict)
    base_url: str | None = None
    model: str | None = None
    models: Mapping[str, ModelSettings] = field(default_factory=dict)
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    unpriced: WhenUnpriced = "refuse"
    journal: JournalSettings = field(default_factory=JournalSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    token: SecretStr | None = None
    file: Path | None = None


def read_settings(
    environ: Mapping[str, str] | None = None, *, config: Path | None = None, folder: Path | None = None
) -> Settings:
    """The settings of this process, or of the given environment. `config` is the file to read, whatever the environment says.

    Raises `ConfigurationError`, which names the setting at fault and never shows a value.
    """
    environ = os.environ if environ is None else environ
    place = _place(environ, config, folder or Path())
    file = _read(place)
    variables = {*KEYS, *(model.api_key_env for model in file.models.values() if model.api_key_env)}
    return Settings(
        keys={name: SecretStr(environ[name].strip()) for name in sorted(variables) if environ.get(name, "").strip()},
        base_url=environ.get("OPENAI_BASE_URL", "").strip() or None,
        model=environ.get("OPENAI_MODEL", "").strip() or None,
        models=file.models,
        roles=file.roles,
        limits=Limits(**file.limits.model_dump(exclude={"unpriced"})),
        unpriced=file.limits.unpriced,
        journal=JournalSettings(path=_journal(environ, file, place), synchronous=file.journal.synchronous),
        server=file.server if place is None else file.server.beside(place.absolute().parent),
        token=SecretStr(token) if (token := environ.get("DAGWRIGHT_TOKEN", "").strip()) else None,
        file=place and place.absolute(),
    )


def _names(value: object) -> object:
    """`planning = "a"` means `planning = ["a"]`."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def token_file(environ: Mapping[str, str] | None = None) -> Path:
    """Where the server keeps the token that it draws when nobody has set one. Raises `ConfigurationError`."""
    try:
        return _state(os.environ if environ is None else environ) / "server-token"
    except ConfigurationError as error:
        raise ConfigurationError("there is no home folder to keep a token in: set DAGWRIGHT_TOKEN") from error


# Made of the dataclass, so the file can say what Limits can say and little else. Zero would mean never, for any of them.
_LIMITS: dict[str, Any] = {limit.name: (Annotated[limit.type, Field(gt=0)], limit.default) for limit in fields(Limits)}
_LIMITS |= {
    "max_cost": (Annotated[Decimal | None, BeforeValidator(_decimal), Field(gt=0)], None),
    "unpriced": (WhenUnpriced, "refuse"),
}
_LimitsTable: Any = create_model("_LimitsTable", __config__=_STRICT, **_LIMITS)


class _JournalTable(BaseModel):
    model_config = _STRICT

    path: Annotated[str, Field(min_length=1)] | None = None
    synchronous: Literal["full", "normal"] = "full"


class _File(BaseModel):
    model_config = _STRICT

    models: dict[str, ModelSettings] = {}
    roles: dict[str, Annotated[tuple[str, ...], BeforeValidator(_names), Field(min_length=1)]] = {}
    limits: _LimitsTable = _LimitsTable()
    journal: _JournalTable = _JournalTable()
    server: ServerSettings = ServerSettings()


def _place(environ: Mapping[str, str], config: Path | None, folder: Path) -> Path | None:
    named = environ.get("DAGWRIGHT_CONFIG", "")
    if config is not None or named:
        return config or Path(named)
    default = folder / CONFIG_FILE
    return default if default.is_file() else None


def _journal(environ: Mapping[str, str], file: _File, place: Path | None) -> Path | None:
    """Where runs are kept: what the environment says, or else the file, or else the usual folder for such things."""
    if named := environ.get("DAGWRIGHT_JOURNAL", "").strip():
        return None if named == IN_MEMORY else Path(named).expanduser().absolute()
    if place is not None and file.journal.path is not None:
        return None if file.journal.path == IN_MEMORY else place.absolute().parent / Path(file.journal.path).expanduser()
    return _state(environ) / "journal.sqlite3"


def _state(environ: Mapping[str, str]) -> Path:
    """Our folder among those for what programs keep."""
    state = Path(environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():  # a relative one is to be ignored, says the XDG specification
        state = _home(environ) / ".local" / "state"
    return state / "dagwright"


def _home(environ: Mapping[str, str]) -> Path:
    try:
        return Path(environ.get("HOME") or Path.home())
    except RuntimeError as error:
        raise ConfigurationError("there is no home folder to keep runs in: set DAGWRIGHT_JOURNAL to a file") from error


def _read(path: Path | None) -> _File:
    if path is None:
        return _File()
    try:
        return _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigurationError(f"the settings file {path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"the settings file {path} is not UTF-8 text") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"the settings file {path} is not TOML: {error}") from error
    except ValidationError as error:
        # From None: pydantic's own text quotes values, and somebody may have written a key there.
        raise ConfigurationError(f"the settings file {path}: {_fault(error)}") from None


def _fault(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = [str(part) for part in found["loc"]]
    if found["type"] == "extra_forbidden":
        return f"no setting named {'.'.join(place)!r}; {there_are(place[-1], _known(place))}"
    return f"{'.'.join(place)!r}: {found['msg']}"


def _known(place: list[str]) -> Iterable[str]:
    """The settings that there are beside this one."""
    tables: Mapping[str, Any] = {
        "models": ModelSettings,
        "limits": _LimitsTable,
        "price": PriceSettings,
        "journal": _JournalTable,
        "server": ServerSettings,
    }
    within = place[-2] if place[-2:-1] == ["price"] else place[0]
    table = tables[within] if len(place) > 1 else _File
    return tuple(table.model_fields)
