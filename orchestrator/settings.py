"""Settings: what the environment and one TOML file say. Nothing else in dagwright reads the environment.

    OPENAI_API_KEY     the key of the default endpoint
    OPENAI_BASE_URL    its address, https://api.openai.com/v1 where it isn't set; an endpoint of one's own may need no key
    OPENAI_MODEL       the model to ask there
    ANTHROPIC_API_KEY  the key of Anthropic, for models such as anthropic:claude-sonnet-4-5; where it is the only one set,
                       Anthropic's is the model that is asked
    DAGWRIGHT_CONFIG   the TOML file to read instead of `dagwright.toml` in the working folder

The file names further models, who plays which role, and the limits of a run:

    [models.big]
    provider = "openai"            # or anthropic, ollama, lmstudio, llamacpp, vllm, local
    model = "gpt-4o"
    base_url = "https://..."       # another endpoint than the provider's own
    api_key_env = "BIG_KEY"        # the environment variable that holds the key: keys never stand in a file
    context_window = 128000        # in tokens
    max_concurrency = 8            # requests at a time to its endpoint
    abilities = { tool_call = true, json_mode = true, json_schema = false }

    [roles]
    planning = "big"
    general = ["openai:gpt-4o-mini", "big"]    # the second where the first can't be had

    [limits]                       # the fields of `orchestrator.limits.Limits`
    step_seconds = 300
"""

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PositiveInt, SecretStr, ValidationError, create_model

from orchestrator.limits import Limits
from registry.errors import ConfigurationError, there_are

CONFIG_FILE = "dagwright.toml"

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
"""The environment variables that hold the keys of providers."""

_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`keys` go by their environment variables, those that are set. `base_url` and `model` are the default endpoint's.

    `models` go by the name that the file gives them. `roles` names each role's model, and after it those to fall back on.
    """

    keys: Mapping[str, SecretStr] = field(default_factory=dict)
    base_url: str | None = None
    model: str | None = None
    models: Mapping[str, ModelSettings] = field(default_factory=dict)
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


def read_settings(
    environ: Mapping[str, str] | None = None, *, config: Path | None = None, folder: Path | None = None
) -> Settings:
    """The settings of this process, or of the given environment. `config` is the file to read, whatever the environment says.

    Raises `ConfigurationError`, which names the setting at fault and never shows a value.
    """
    environ = os.environ if environ is None else environ
    file = _read(_place(environ, config, folder or Path()))
    variables = {*KEYS, *(model.api_key_env for model in file.models.values() if model.api_key_env)}
    return Settings(
        keys={name: SecretStr(environ[name].strip()) for name in sorted(variables) if environ.get(name, "").strip()},
        base_url=environ.get("OPENAI_BASE_URL", "").strip() or None,
        model=environ.get("OPENAI_MODEL", "").strip() or None,
        models=file.models,
        roles=file.roles,
        limits=Limits(**file.limits.model_dump()),
    )


def _names(value: object) -> object:
    """`planning = "a"` means `planning = ["a"]`."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


# Made of the dataclass, so the file can say what Limits can say and nothing else. Zero would mean never, for any of them.
_LIMITS: dict[str, Any] = {limit.name: (Annotated[limit.type, Field(gt=0)], limit.default) for limit in fields(Limits)}
_LimitsTable: Any = create_model("_LimitsTable", __config__=_STRICT, **_LIMITS)


class _File(BaseModel):
    model_config = _STRICT

    models: dict[str, ModelSettings] = {}
    roles: dict[str, Annotated[tuple[str, ...], BeforeValidator(_names), Field(min_length=1)]] = {}
    limits: _LimitsTable = _LimitsTable()


def _place(environ: Mapping[str, str], config: Path | None, folder: Path) -> Path | None:
    named = environ.get("DAGWRIGHT_CONFIG", "")
    if config is not None or named:
        return config or Path(named)
    default = folder / CONFIG_FILE
    return default if default.is_file() else None


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
    tables: Mapping[str, Any] = {"models": ModelSettings, "limits": _LimitsTable}
    table = tables[place[0]] if len(place) > 1 else _File
    return tuple(table.model_fields)
