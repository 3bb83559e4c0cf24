"""What is in the wheel."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    """The wheel of this checkout, built by the backend that users' installers would ask."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = folder.iterdir()
    return ZipFile(built)


def test_three_packages_and_nothing_else(wheel: ZipFile) -> None:
    """The wheel installs registry, planner and orchestrator at the top level, each marked as typed."""
    top = {name.split("/")[0] for name in wheel.namelist()}

    assert {"registry", "planner", "orchestrator"} == {name for name in top if not name.endswith(".dist-info")}
    assert {f"{package}/py.typed" for package in ("registry", "planner", "orchestrator")} <= set(wheel.namelist())


def test_the_demo_is_inside(wheel: ZipFile) -> None:
    """The demo's plan and documents come with the wheel, the same as in examples/."""
    documents = sorted(path.name for path in (ROOT / "examples" / "documents").glob("*.txt"))
    packed = [name for name in wheel.namelist() if name.startswith("orchestrator/demo/documents/")]

    assert documents == sorted(name.rsplit("/", 1)[-1] for name in packed)
    assert (ROOT / "examples" / "brief.yaml").read_bytes() == wheel.read("orchestrator/demo/brief.yaml")


def test_the_command_is_declared(wheel: ZipFile) -> None:
    """Installing the wheel makes `dagwright` a command."""
    (entry_points,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]

    assert "dagwright = orchestrator.cli:main" in wheel.read(entry_points).decode()


def test_the_licence_is_inside(wheel: ZipFile) -> None:
    """The licence text travels with the wheel."""
    (licence,) = [name for name in wheel.namelist() if name.endswith("licenses/LICENSE")]

    assert "Apache License" in wheel.read(licence).decode()
