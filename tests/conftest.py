"""Fixtures for all tests."""

import os

import pytest
from hypothesis import settings

from tests.backends import Backend, backend

# The same examples in every run, however busy the machine is: a test that fails now and then is broken.
settings.register_profile("dagwright", deadline=None, derandomize=True)
settings.load_profile("dagwright")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--plans 20000` makes the test of random plans a long one, `--requests 1000` that of the server."""
    parser.addoption("--plans", type=int, default=300, help="how many random plans are checked and repaired")
    parser.addoption("--requests", type=int, default=50, help="how many random requests each operation of the server gets")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> Backend:
    """Every async test runs on both loops, on a virtual clock; one marked `real_clock` on a real one."""
    return backend(request.param, virtual=request.node.get_closest_marker("real_clock") is None)


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the keys or settings of the machine that it runs on."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in list(os.environ):
        if name.startswith("DAGWRIGHT_"):
            monkeypatch.delenv(name)
