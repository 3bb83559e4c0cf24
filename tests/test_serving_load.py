"""A slice of what benchmarks/sse.py does to a server, and whether it would notice what is wrong."""

import math
import subprocess
import sys
from array import array
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from benchmarks.crowd import Follower, Place
from benchmarks.sse import Seen, Wanted
from tests.serving.process import ROOT

FACTS = {f"{number}.0": 100 + number / 10 for number in range(1, 41)}
FIRST, SECOND, *OTHERS = FACTS
PLACE = Place(port=1, path="/", token="")


@pytest.mark.real_clock
@pytest.mark.timeout(180)
def test_a_few_clients() -> None:
    """Fifty clients follow a run and come back to it, twenty send heads byte by byte, the server is restarted: all is well."""
    few = ["--clients", "50", "--stalled", "0", "--tricklers", "20", "--seconds", "11"]
    ran = subprocess.run([sys.executable, str(ROOT / "benchmarks" / "sse.py"), *few], capture_output=True, text=True, check=False)

    assert 0 == ran.returncode, ran.stdout + ran.stderr
    assert "0 of 50" in ran.stdout
    assert "head that comes byte by byte" in ran.stdout


def follower(*ids: str, late: float = 0.1, torn: Sequence[float] = ()) -> Follower:
    """One that got these messages so many seconds late."""
    came = array("d", [FACTS[name] + late for name in ids])
    asked = array("d", [0.0] * len(ids))
    return Follower(place=PLACE, chance=Random(0), stay=1.0, ids=list(ids), came=came, asked=asked, torn=array("d", torn))


WELL = Seen(
    wanted=Wanted(clients=1, stalled=1, tricklers=1, seconds=1.0, seed=0),
    facts=FACTS,
    followers=[follower(*FACTS)],
    evicted=[12.0],
    cut=[10.0],
    health=[0.01],
    stopping=1.0,
    began_at=100.0,
    stopped_at=104.9,
)


@pytest.mark.parametrize(
    ("seen", "breaches"),
    [
        pytest.param(WELL, [], id="none"),
        pytest.param(replace(WELL, followers=[follower(FIRST, *OTHERS)]), ["clients with a Fact lost"], id="lost"),
        pytest.param(replace(WELL, followers=[follower(*FACTS, OTHERS[-1])]), ["clients with a Fact lost"], id="doubled"),
        pytest.param(replace(WELL, followers=[follower(SECOND, FIRST, *OTHERS)]), ["clients with a Fact lost"], id="order"),
        pytest.param(replace(WELL, followers=[follower(*FACTS, late=0.6)]), ["delivery, p99"], id="late"),
        pytest.param(replace(WELL, followers=[follower(*FACTS, torn=[102.0, 105.0])]), ["streams"], id="torn"),
        pytest.param(replace(WELL, began_at=0.0), ["messages of Facts"], id="slowed"),
        pytest.param(replace(WELL, evicted=[12.0, math.inf]), ["client that stopped reading"], id="not cut off"),
        pytest.param(replace(WELL, cut=[16.0]), ["head that comes byte by byte"], id="slow head"),
        pytest.param(replace(WELL, health=[0.3, 0.01]), ["answer on health"], id="health"),
        pytest.param(replace(WELL, stopping=5.1), ["SIGTERM"], id="stopping"),
    ],
)
def test_breaches_are_noticed(seen: Seen, breaches: list[str]) -> None:
    """Whatever is not as it should be shows, and nothing else does."""
    found = [what for what, _, _, holds in seen.rows if not holds]

    assert len(breaches) == len(found)
    assert all(what.startswith(start) for what, start in zip(found, breaches, strict=True))


def test_what_came_before_one_asked_is_not_late() -> None:
    """A delivery counts from when the client asked, if that was later than the Fact; those after SIGTERM are not counted."""
    behind = follower(FIRST, SECOND, OTHERS[0])
    behind.came, behind.asked = array("d", [102.75, 102.75, 105.0]), array("d", [102.5, 102.5, 102.5])

    assert [0.25, 0.25] == replace(WELL, followers=[behind]).delivered
