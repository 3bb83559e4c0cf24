"""Nothing is lost when processes are killed: a slice of what benchmarks/kill.py tries, and whether that would be noticed."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kills.lives import Site
from tests.kills.verdicts import judged
from tests.scenarios.outside import MODEL, Execution, Folder
from tests.scenarios.plans import LETTERS

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.real_clock


def test_a_few_kills() -> None:
    """Killed at Facts and effects of all runs, on both loops, or stopped until others have taken over: all ends as it should."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "benchmarks" / "kill.py"), "--kills", "24", "--halts", "2"],
        capture_output=True,
        text=True,
        env={"PATH": "", "TMPDIR": os.environ.get("TMPDIR", "/tmp")},
        check=False,
    )

    assert 0 == ran.returncode, ran.stderr
    assert re.fullmatch(r"kills 2[45] lost 0 repeated 0 in_doubt \d+\nhalts 2 landed 0 lost 0\n", ran.stdout), ran.stdout


def forget_a_fact(site: Site) -> None:
    with (site.folder / "acknowledged").open("a") as notes:
        notes.write("999 12345\n")


def forget_an_outcome(site: Site) -> None:
    site.outside.happen(Execution(tool="post", effect="unkeyed", key="new", about="to Cy"))


def undo_an_effect(site: Site) -> None:
    next(file for file in site.outside.files() if "to the mayor" in file.read_text()).unlink()


def answer_otherwise(site: Site) -> None:
    (site.folder / "answer").write_text("[]")


def forget_a_doubt(site: Site) -> None:
    begun = next(each.seq for each in site.known() if each.event.kind == "tool_started")
    (site.folder / "found-1").write_text(str(begun))


def repeat_an_effect(site: Site) -> None:
    site.outside.happen(next(each for each in site.outside if each.about == "to Bo"))


def repeat_what_is_finished(site: Site) -> None:
    (site.folder / "found-2").write_text(str(LETTERS.facts))
    Folder(site.folder / "outside", life=2).happen(next(each for each in site.outside if each.tool == MODEL))


@pytest.mark.parametrize(
    ("harm", "lives", "lost", "repeated"),
    [
        pytest.param(lambda site: None, 1, [], [], id="none"),
        pytest.param(forget_a_fact, 1, ["Fact 999 12345"], [], id="fact"),
        pytest.param(forget_an_outcome, 1, ["the outcome of post to Cy"], ["an effect as new"], id="outcome"),
        pytest.param(undo_an_effect, 1, ["the effect of"], [], id="effect"),
        pytest.param(answer_otherwise, 1, ["the answer, which is []"], [], id="answer"),
        pytest.param(forget_a_doubt, 1, ["that step/"], [], id="doubt"),
        pytest.param(repeat_an_effect, 1, [], ["the effect of"], id="twice"),
        pytest.param(repeat_what_is_finished, 2, [], ["model [("], id="again"),
    ],
)
def test_harm_is_noticed(harm: Callable[[Site], None], lives: int, lost: list[str], repeated: list[str], tmp_path: Path) -> None:
    """Whatever is lost or repeated shows, and nothing else does."""
    whole, site = (Site.at(tmp_path / name, LETTERS) for name in ("whole", "harmed"))
    assert [0, 0] == [whole.live(1), site.live(1)]
    harm(site)

    verdict = judged(site, lives, whole)

    assert (len(lost), len(repeated)) == (len(verdict.lost), len(verdict.repeated)), verdict
    assert all(said.startswith(start) for said, start in zip((*verdict.lost, *verdict.repeated), (*lost, *repeated), strict=True))
