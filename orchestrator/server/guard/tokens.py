"""Who may use the server: tokens, of which only digests are kept in memory, and what each grants.

Tenants stand in a TOML file that holds no token:

    [tenants.harbour]
    token_sha256 = "9f86d08..."     # printf %s "$TOKEN" | sha256sum
    reader_sha256 = "60303ae..."    # of a token that may only read, if there is one
"""

import hashlib
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from orchestrator.server.guard.secret_files import read_private, write_private
from registry.errors import ConfigurationError

DEFAULT_TENANT = "default"

SHORTEST = 32
"""Characters that a token has at least."""

_TOKEN = re.compile(rf"[A-Za-z0-9\-._~+/]{{{SHORTEST},512}}=*")
_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True)


class Grant(Struct, frozen=True, kw_only=True):
    """What a token is good for: everything of its tenant, or only reading it."""

    tenant: str
    writes: bool = True


Grants = Mapping[bytes, Grant]
"""By the digest of the token."""


def digest_of(token: str) -> bytes:
    """What is kept of a token. Tokens are drawn at random and long, so a plain hash tells nothing of them."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def sole_grant(token: SecretStr, said_by: str) -> Grants:
    """All that there is, for the one token of a server without tenants.

    Raises `ConfigurationError`, which names who `said_by` and not the token, where that is too short or can't stand in a header.
    """
    if not _TOKEN.fullmatch(token.get_secret_value()):
        raise ConfigurationError(
            f"the token of {said_by} must have {SHORTEST} letters, digits or -._~+/ and no others; try: openssl rand -hex 32"
        )
    return {digest_of(token.get_secret_value()): Grant(tenant=DEFAULT_TENANT)}


def kept_token(path: Path, draw: Callable[[], str]) -> tuple[SecretStr, bool]:
    """The token of the file, and whether it was drawn just now because there was no file. Raises `ConfigurationError`."""
    try:
        return SecretStr(read_private(path).strip()), False
    except FileNotFoundError:
        token = draw()
        write_private(path, token + "\n")
        return SecretStr(token), True


class _Tenant(BaseModel):
    model_config = _STRICT

    token_sha256: _Digest
    reader_sha256: _Digest | None = None

    def grants(self, tenant: str) -> list[tuple[bytes, Grant]]:
        given = [(self.token_sha256, True), (self.reader_sha256, False)]
        return [(bytes.fromhex(digest), Grant(tenant=tenant, writes=writes)) for digest, writes in given if digest]


class _Tenants(BaseModel):
    model_config = _STRICT

    tenants: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")], _Tenant]


def read_tenants(path: Path) -> Grants:
    """What the file of tenants grants. Raises `ConfigurationError`, which shows no value of the file."""
    try:
        found = _Tenants.model_validate(tomllib.loads(read_private(path))).tenants
    except FileNotFoundError as error:
        raise ConfigurationError(f"no file of tenants {path}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"the file of tenants {path} is not TOML: {error}") from error
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise ConfigurationError(f"the file of tenants {path}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}") from None
    grants = [grant for name, tenant in found.items() for grant in tenant.grants(name)]
    if len(dict(grants)) < len(grants):
        raise ConfigurationError(f"the file of tenants {path} has one token twice")
    return dict(grants)
