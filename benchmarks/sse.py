"""A thousand clients on one run of a real `dagwright serve`, over loopback.

    python benchmarks/sse.py [--clients 1000] [--stalled 100] [--tricklers 500] [--seconds 60] [--seed 0]

A run of tool steps makes ten Facts a second. The clients follow it, are cut off at random and go on by Last-Event-ID; some stop
reading in the midst of it. Others send the head of a request byte by byte, and somebody asks after the server's health. Then the
server gets SIGTERM with all streams open, another one is started on its journal, and the clients follow the run to its end.

The server has one core and the clients another. Exits with 1 when a client misses a Fact, gets one twice or out of order, by
what the journal holds in the end; when a stream breaks off before SIGTERM, or the run gets slower than 8 messages a second; when
one delivery in a hundred takes 500 ms or longer, from the moment that the Fact bears, or from when the client asked if that was
later; when one that stopped reading is not cut off within 30 s, or a slow head within 15 s; when an answer on health takes
250 ms; or when SIGTERM takes 5 s.
"""

import argparse
import asyncio
import math
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Coroutine
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.crowd import Follower, Place, healths, stall, trickle
from orchestrator.events.project import project
from orchestrator.journal.sqlite import SqliteJournal
from tests.serving.process import TOKEN, Server, journal_in, served

T = TypeVar("T")

RATE, LANES, FACTS_OF_A_STEP = 10, 4, 4
LETTERS = 8000
"""Of each result of a tool: with less, it takes long until anybody can see that a client does not read."""

TAIL, STAY = 1.0, 20.0
"""Seconds for which the run goes on after SIGTERM, and for which a client stays on the average."""

SLOWED, SLOWEST, EVICTED, CUT, HEALTHY, STOPPED = 8.0, 0.5, 30.0, 15.0, 0.25, 5.0
PATIENCE = 60.0
"""Seconds that clients have to come to the end of the run."""

NO_MODEL = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_MODEL": "none"}
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
SETTINGS = "[server]\nrequests_per_second = 100000.0\nstreams = 100000\n"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """So many clients, and so many of them stop reading; heads that come byte by byte; seconds until SIGTERM."""

    clients: int
    stalled: int
    tricklers: int
    seconds: float
    seed: int

    @property
    def ramp(self) -> float:
        """Seconds in which all clients come."""
        return self.seconds / 6


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What came of it, in seconds. The run began, and SIGTERM came, `at` moments; `facts` has those of the journal's Facts, by
    the ids of their messages."""

    wanted: Wanted
    facts: dict[str, float]
    followers: list[Follower]
    evicted: list[float]
    cut: list[float]
    health: list[float]
    stopping: float
    began_at: float
    stopped_at: float

    @property
    def wrong(self) -> int:
        """Clients that did not get exactly what the journal holds, in its order."""
        right = list(self.facts)
        return sum(follower.ids != right for follower in self.followers)

    @property
    def delivered(self) -> list[float]:
        """How long each delivery took that came before SIGTERM, in order."""
        return sorted(
            came - max(self.facts.get(name, 0.0), asked)
            for follower in self.followers
            for name, came, asked in zip(follower.ids, follower.came, follower.asked, strict=True)
            if came < self.stopped_at
        )

    @property
    def rows(self) -> list[tuple[str, str, str, bool]]:
        """What was looked at, what was seen, what is asked for, and whether it holds."""
        followers, delivered, stop = self.followers, self.delivered, self.stopped_at
        torn = sum(moment < stop for follower in followers for moment in follower.torn)
        rate = sum(moment < stop for moment in self.facts.values()) / (stop - self.began_at)
        p50, p99 = (delivered[int(len(delivered) * part)] for part in (0.5, 0.99))
        rows = [
            ("messages of Facts a second", f"{rate:.1f}", f"> {SLOWED:g}", rate > SLOWED),
            ("streams that broke off before SIGTERM", f"{torn}", "0", not torn),
            ("clients with a Fact lost, doubled or out of order", f"{self.wrong} of {len(followers)}", "0", not self.wrong),
            ("delivery, p50", f"{p50 * 1000:.0f} ms", "", True),
            ("delivery, p99", f"{p99 * 1000:.0f} ms", f"< {SLOWEST * 1000:.0f} ms", p99 < SLOWEST),
            ("delivery, slowest", f"{delivered[-1] * 1000:.0f} ms", "", True),
            _longest("answer on health", self.health, HEALTHY),
            _longest("client that stopped reading is cut off", self.evicted, EVICTED),
            _longest("head that comes byte by byte is cut off", self.cut, CUT),
            ("SIGTERM to the end", f"{self.stopping:.2f} s", f"< {STOPPED:g} s", self.stopping < STOPPED),
        ]
        return [row for row in rows if row[1] != "none"]

    @property
    def load(self) -> str:
        """In a sentence."""
        messages = sum(len(follower.ids) for follower in self.followers)
        cuts = sum(follower.cuts for follower in self.followers)
        return (
            f"{len(self.followers)} clients got {messages} messages, {len(self.facts)} each; "
            f"{cuts} times one left its stream and came back; seed {self.wanted.seed}"
        )


def _longest(what: str, took: list[float], most: float) -> tuple[str, str, str, bool]:
    longest = max(took, default=0.0)
    return f"{what}, at the latest", f"{longest:.3f} s" if took else "none", f"< {most:g} s", longest < most


async def seen(wanted: Wanted, folder: Path) -> Seen:
    """Let it all happen, with the server's files in the folder."""
    chance = Random(wanted.seed)
    (folder / "dagwright.toml").write_text(SETTINGS)
    with ExitStack() as servers:
        server = await started(servers, folder)
        run, began_at = begun(server, plan_of(wanted, chance)), time.time()
        place = Place(port=server.port, path=f"/v1/runs/{run}/events", token=TOKEN)
        reading = wanted.clients - wanted.stalled
        followers = [Follower(place=place, chance=Random(chance.random()), stay=STAY) for _ in range(reading)]
        async with asyncio.TaskGroup() as crowd:
            for follower in followers:
                crowd.create_task(later(chance.uniform(0, wanted.ramp), follower.follow()))
            evicted, cut, health = await beside(place, wanted, chance, began_at + wanted.seconds)
            stopped_at = time.time()
            stopping = await stopped(server)
            await started(servers, folder, server.port)
            asyncio.get_running_loop().call_later(PATIENCE, give_up, followers)
        facts = await facts_of(folder, run)
    return Seen(
        wanted=wanted,
        facts=facts,
        followers=followers,
        evicted=evicted,
        cut=cut,
        health=health,
        stopping=stopping,
        began_at=began_at,
        stopped_at=stopped_at,
    )


async def beside(place: Place, wanted: Wanted, chance: Random, end: float) -> tuple[list[float], list[float], list[float]]:
    """After how long each that stopped reading and each slow head was cut off, and how long each answer on health took."""
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        health = group.create_task(healths(place, stop))
        async with asyncio.TaskGroup() as crowd:
            lazy = [crowd.create_task(later(chance.uniform(0, wanted.ramp), stall(place, chance))) for _ in range(wanted.stalled)]
            slow = [crowd.create_task(later(chance.uniform(0, wanted.ramp), trickle(place))) for _ in range(wanted.tricklers)]
        await asyncio.sleep(end - time.time())
        stop.set()
    return [each.result() for each in lazy], [each.result() for each in slow], health.result()


async def later(seconds: float, what: Coroutine[None, None, T]) -> T:
    await asyncio.sleep(seconds)
    return await what


def give_up(followers: list[Follower]) -> None:
    """Who has not come to the end by now comes back no more."""
    for follower in followers:
        follower.over = True


async def started(servers: ExitStack, folder: Path, port: int = 0) -> Server:
    """A server of the folder, on a core of its own where there are two."""

    def start() -> Server:
        if len(CORES) > 1:
            os.sched_setaffinity(0, CORES[:1])  # of this thread, and so of the process that it starts
        return servers.enter_context(served(folder, "--tools", "tests.serving.tools:pause", port=port, environ=NO_MODEL))

    return await asyncio.to_thread(start)


async def stopped(server: Server) -> float:
    """How many seconds it takes to end after SIGTERM."""
    began = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    await asyncio.to_thread(server.process.wait, PATIENCE)
    return time.monotonic() - began


def plan_of(wanted: Wanted, chance: Random) -> dict[str, Any]:
    """Lanes of steps one after another, each of which takes some time, and all of a lane as long as the run is to be."""
    whole = wanted.seconds + TAIL
    steps = []
    for lane in range(LANES):
        parts = [chance.uniform(0.5, 1.5) for _ in range(math.ceil(whole * RATE / LANES / FACTS_OF_A_STEP))]
        for place, part in enumerate(parts):
            args = {"seconds": round(part / sum(parts) * whole, 3), "letters": LETTERS}
            needs = [f"s{lane}-{place - 1}"] if place else []
            steps.append({"id": f"s{lane}-{place}", "kind": "tool", "tool": "pause", "args": args, "depends_on": needs})
    return {"goal": "Take time", "steps": steps, "output": f"${{steps.{steps[-1]['id']}.output}}"}


def begun(server: Server, plan: dict[str, Any]) -> str:
    with server.client() as client:
        answer = client.post("/v1/runs", json={"plan": plan})
    answer.raise_for_status()
    return str(answer.json()["id"])


async def facts_of(folder: Path, run: str) -> dict[str, float]:
    async with SqliteJournal.open(journal_in(folder), now=lambda: datetime.now(UTC), synchronous="normal") as journal:
        return {str(told.id): fact.time for fact in await journal.read(run) for told in project(fact).messages}


def table(found: Seen) -> Table:
    shown = Table("what", "seen", "asked for", "verdict")
    for what, value, asked, holds in found.rows:
        shown.add_row(what, value, asked, ("as it should" if holds else "BREACH") if asked else "")
    return shown


def main(wanted: Wanted) -> int:
    if len(CORES) > 1:
        os.sched_setaffinity(0, CORES[1:2])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(seen(wanted, Path(folder)))
    Console(width=140).print(table(found), found.load, sep="\n")
    return 0 if all(holds for *_, holds in found.rows) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--stalled", type=int, default=100)
    parser.add_argument("--tricklers", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    sys.exit(main(Wanted(**vars(parser.parse_args()))))
