"""Where the server listens."""

import resource
import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from orchestrator.server.binding import FILES, bound, make_room, refuse_exposed, tls_of
from registry.errors import ConfigurationError
from tests.orchestrator.server.live import certificate


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_this_machine_needs_no_tls(host: str) -> None:
    """Nothing leaves it."""
    refuse_exposed(host, encrypted=False, allowed=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "dag.example.org", "localhost.example.org", ""])
def test_a_network_needs_tls_or_a_word(host: str) -> None:
    """The sentence says what would be read, and what to say if that is meant."""
    refuse_exposed(host, encrypted=True, allowed=False)
    refuse_exposed(host, encrypted=False, allowed=True)
    with pytest.raises(ConfigurationError, match=r"read tokens.*--allow-unencrypted-tokens"):
        refuse_exposed(host, encrypted=False, allowed=False)


def test_any_free_port() -> None:
    """It is known at once, and the same for all addresses of a host."""
    made = bound("localhost", 0)
    try:
        (port,) = {one.getsockname()[1] for one in made}
        assert port > 0
        assert {one.getsockname()[0] for one in made} <= {"127.0.0.1", "::1"}
        assert {one.proto for one in made} == {socket.IPPROTO_TCP}  # or asyncio lets small writes wait
    finally:
        for one in made:
            one.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "192.0.2.1", "no such host.invalid"])
def test_what_can_not_be_had(host: str) -> None:
    """A port that is taken, an address of somebody else, a name of nobody; nothing stays open."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"nothing can listen on {host} port {port}"):
            bound(host, port)


@pytest.mark.parametrize("asked", [64, 1_000_000])
def test_room_for_connections(asked: int) -> None:
    """What was few is more afterwards, what was many is not fewer, and the system's own limit stays."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = min(asked, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, hard))
    try:
        make_room()
        assert (max(few, min(hard, FILES)), hard) == resource.getrlimit(resource.RLIMIT_NOFILE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_certificate_and_its_key(tmp_path: Path) -> None:
    """In two files, or in one."""
    certificate_file, key = certificate(tmp_path)
    both = tmp_path / "both.pem"
    both.write_text(certificate_file.read_text() + key.read_text())

    for files in ((certificate_file, key), (both,)):
        assert ssl.PROTOCOL_TLS_SERVER == tls_of(*files).protocol


@pytest.mark.parametrize("content", [None, "", "no certificate"])
def test_a_certificate_that_is_none(content: str | None, tmp_path: Path) -> None:
    """The sentence names the file."""
    if content is not None:
        (tmp_path / "server.pem").write_text(content)

    with pytest.raises(ConfigurationError, match=r"server\.pem and its key can't be used: \S"):
        tls_of(tmp_path / "server.pem")


def test_a_key_with_a_password(tmp_path: Path) -> None:
    """Nobody is asked for it: there may be nobody."""
    certificate_file, key = certificate(tmp_path)
    locked = tmp_path / "locked.pem"
    command = ["openssl", "ec", "-in", key, "-aes256", "-passout", "pass:secret", "-out", locked]
    subprocess.run(command, check=True, capture_output=True)

    with pytest.raises(ConfigurationError, match="can't be used"):
        tls_of(certificate_file, locked)
