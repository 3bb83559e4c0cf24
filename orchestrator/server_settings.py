"""The `[server]` of the settings file: what `dagwright serve` goes by."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PositiveInt


def _path(value: object) -> object:
    return Path(value).expanduser() if isinstance(value, str) and value else value


def _several(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


_File = Annotated[Path, BeforeValidator(_path)]
_Texts = Annotated[tuple[str, ...], BeforeValidator(_several)]
_Positive = Annotated[float, Field(gt=0)]


class ServerSettings(BaseModel):
    """`allowed_hosts` are names by which the server is known besides the `host` it listens on.

    `proxies` are the addresses whose word is taken on whom a request is from. `tenants` is a file of tokens, one for each tenant.
    `tls_key` may stand in `tls_certificate` too. When the server ends, runs have `grace_seconds` to come to rest. Each tenant has
    so many `requests_per_second`, and so many event streams open at once (`streams`).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8321
    allowed_hosts: _Texts = ()
    proxies: _Texts = ()
    tenants: _File | None = None
    tls_certificate: _File | None = None
    tls_key: _File | None = None
    grace_seconds: _Positive = 30.0
    requests_per_second: _Positive = 100.0
    streams: PositiveInt = 1000

    def beside(self, folder: Path) -> Self:
        """The same, with files that are relative to the folder."""
        files = {name: getattr(self, name) for name in ("tenants", "tls_certificate", "tls_key")}
        return self.model_copy(update={name: folder / file for name, file in files.items() if file})
