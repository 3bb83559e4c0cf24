"""Tokens and what they grant."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from orchestrator.server.guard.secret_files import write_private
from orchestrator.server.guard.tokens import Grant, digest_of, kept_token, read_tenants, sole_grant
from registry.errors import ConfigurationError

TOKEN = "t" * 32


def test_one_token_is_for_everything() -> None:
    """It is the default tenant's, and only its digest is kept."""
    grants = sole_grant(SecretStr(TOKEN), "DAGWRIGHT_TOKEN")

    assert {digest_of(TOKEN): Grant(tenant="default", writes=True)} == grants
    assert TOKEN not in repr(grants)


@pytest.mark.parametrize("token", ["", "t" * 31, "t" * 32 + " ", "t" * 32 + "\n", "é" * 32, "t" * 513])
def test_tokens_that_are_refused(token: str) -> None:
    """One that is short, or can't stand in a header; the sentence says whose it is and does not show it."""
    with pytest.raises(ConfigurationError, match="DAGWRIGHT_TOKEN must have 32") as caught:
        sole_grant(SecretStr(token), "DAGWRIGHT_TOKEN")
    assert not token or token not in str(caught.value)


def test_a_token_is_drawn_once(tmp_path: Path) -> None:
    """The first time it is made and kept, afterwards it is the same."""
    path = tmp_path / "token"

    first, is_new = kept_token(path, lambda: TOKEN)
    again, is_new_again = kept_token(path, lambda: "another")

    assert (TOKEN, True) == (first.get_secret_value(), is_new)
    assert (TOKEN, False) == (again.get_secret_value(), is_new_again)
    assert TOKEN not in repr(first)


def tenants(path: Path, text: str) -> Path:
    write_private(path / "tenants.toml", text)
    return path / "tenants.toml"


def test_tenants_of_a_file(tmp_path: Path) -> None:
    """Each has the digest of its token, and perhaps that of one that may only read."""
    text = f"""
        [tenants.harbour]
        token_sha256 = "{digest_of("a").hex()}"
        reader_sha256 = "{digest_of("b").hex()}"
        [tenants.lights]
        token_sha256 = "{digest_of("c").hex()}"
    """

    assert {
        digest_of("a"): Grant(tenant="harbour"),
        digest_of("b"): Grant(tenant="harbour", writes=False),
        digest_of("c"): Grant(tenant="lights"),
    } == read_tenants(tenants(tmp_path, text))


SAME = f"token_sha256 = '{'0' * 64}'"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("[tenants", "not TOML", id="no TOML"),
        pytest.param("", "tenants: Field required", id="nothing"),
        pytest.param(f"[tenants.a]\ntoken = '{TOKEN}'", "a.token_sha256: Field required", id="a token itself"),
        pytest.param(f"[tenants.a]\ntoken_sha256 = '{TOKEN}'", "a.token_sha256: String should match", id="no digest"),
        pytest.param(f"[tenants.a]\n{SAME}\nmay = 'all'", "a.may", id="another setting"),
        pytest.param(f"[tenants.a]\n{SAME}\nreader_{SAME[6:]}", "one token twice", id="one token to read and to write"),
        pytest.param(f"[tenants.'a.b']\n{SAME}", "String should match", id="a name with a dot"),
        pytest.param(f"[tenants.a]\n{SAME}\n[tenants.b]\n{SAME}", "one token twice", id="one token for two"),
    ],
)
def test_files_that_are_refused(text: str, why: str, tmp_path: Path) -> None:
    """The sentence says what is wrong, and shows no value."""
    with pytest.raises(ConfigurationError, match=why) as caught:
        read_tenants(tenants(tmp_path, text))
    assert TOKEN not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """Whoever named it wants it."""
    with pytest.raises(ConfigurationError, match="no file of tenants"):
        read_tenants(tmp_path / "absent.toml")
