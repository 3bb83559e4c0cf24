"""Where the server listens, and whether that is safe. All of it is settled before anything is served."""

import ipaddress
import resource
import socket
import ssl
from contextlib import ExitStack
from pathlib import Path

from registry.errors import ConfigurationError

BACKLOG = 2048
"""Connections that may wait until the server comes to them."""

FILES = 65536
"""Open files, of which each connection is one. Many systems allow 1024 where nobody asks for more."""


def tls_of(certificate: Path, key: Path | None = None) -> ssl.SSLContext:
    """TLS with the certificate, which comes with its chain, and its key; both may stand in one file. They are PEM.

    Raises `ConfigurationError` where they can't be used; a key that needs a password can't.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, password="")
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(f"the certificate {certificate} and its key can't be used: {error.strerror or error}") from error
    return context


def refuse_exposed(host: str, *, encrypted: bool, allowed: bool) -> None:
    """Raises `ConfigurationError` where tokens would cross a network unencrypted and nobody has `allowed` that."""
    if not (encrypted or allowed or _is_loopback(host)):
        raise ConfigurationError(
            f"{host} can be reached from the network, and without TLS everybody on the way can read tokens and answers: give "
            "--tls-certificate and --tls-key, or listen on 127.0.0.1 behind a proxy, or say --allow-unencrypted-tokens"
        )


def bound(host: str, port: int) -> list[socket.socket]:
    """A socket that listens for each address of the host; with port 0 all have the one that the first was given.

    Raises `ConfigurationError` where it can't be had.
    """
    with ExitStack() as opened:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            sockets: list[socket.socket] = []
            for family, *_, address in dict.fromkeys(found):
                # asyncio sends small writes at once (TCP_NODELAY) only where the protocol is said.
                made = opened.enter_context(socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP))
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                made.bind((address[0], port, *address[2:]))
                made.listen(BACKLOG)
                port = made.getsockname()[1]
                sockets.append(made)
        except OSError as error:
            raise ConfigurationError(f"nothing can listen on {host} port {port}: {error.strerror}") from error
        opened.pop_all()
    return sockets


def make_room() -> None:
    """Lets this process have as many connections as it may, up to so many that nobody needs more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(hard, FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
