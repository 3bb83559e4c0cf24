"""A server that is killed while runs are under way: the next one ends them, and nothing is done twice."""

import contextlib
from collections import Counter
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from planner import Plan, plain_plan
from tests.scenarios.outside import MODEL, Execution, Folder
from tests.scenarios.plans import ACCOUNTS, LETTERS, SURVEY
from tests.serving.process import Server, served, until

pytestmark = [pytest.mark.real_clock, pytest.mark.timeout(180)]

SCENARIOS = (SURVEY, LETTERS, ACCOUNTS)
SECOND_LAPS = 6
"""Agents that come to a second lap before any of the runs can end."""


class Stage:
    """A folder with a server in it, one at a time. They have the same runs, for they are begun under the same keys."""

    def __init__(self, folder: Path) -> None:
        (folder / "outside").mkdir(parents=True)
        self.outside = Folder(folder / "outside")
        self._folder = folder

    def served(self, life: int) -> AbstractContextManager[Server]:
        environ = {"STAGE": str(self._folder), "LIFE": str(life)}
        return served(self._folder, "--tools", "tests.serving.tools:TOOLS", program="tests.serving.stage", environ=environ)

    def open(self) -> None:
        for door in ("laps", "answer"):
            (self._folder / door).touch()

    @property
    def happened(self) -> Counter[str]:
        return Counter(each.key for each in self.outside)

    @property
    def second_laps(self) -> list[Execution]:
        """How often agents asked their model for a second lap."""
        return [each for each in self.outside if each.tool == MODEL and " step 2 @" in each.key]


def begun(client: httpx.Client) -> dict[str, int]:
    """Begin each of the scenarios, or find it again: its run, and the status of the answer."""
    found = {}
    for scenario in SCENARIOS:
        assert isinstance(scenario.goal, Plan)
        answer = client.post("/v1/runs", json={"plan": plain_plan(scenario.goal)}, headers={"idempotency-key": scenario.name})
        found[answer.json()["id"]] = answer.status_code
    return found


def gists(client: httpx.Client, runs: Iterable[str]) -> dict[str, list[Any]]:
    """What comes of each run, but for what it took. Waits for its end."""
    found = {}
    for run in runs:
        assert "event: done" in client.get(f"/v1/runs/{run}/events").text
        report = client.get(f"/v1/runs/{run}").json()
        steps = [(step["id"], step["state"], step["output"]) for step in report["steps"]]
        found[run] = [report["state"], report["answer"], report["usage"], steps]
    return found


def ids_told(events: httpx.Response) -> list[str]:
    """Those of all messages that come before the stream ends, or breaks off."""
    found = list[str]()
    with contextlib.suppress(httpx.RemoteProtocolError, httpx.ReadError):
        for line in events.iter_lines():
            if line.startswith("id: "):
                found.append(line[4:])
    return found


def test_three_runs_outlive_their_server(tmp_path: Path) -> None:
    """All end as they do when nothing disturbs them; only what a model was being asked at that moment is asked again.

    Who watched one goes on behind the last message of the first server, and misses none.
    """
    whole, killed = Stage(tmp_path / "whole"), Stage(tmp_path / "killed")
    whole.open()
    with whole.served(1) as server, server.client() as client:
        undisturbed = gists(client, begun(client))
    watched = f"/v1/runs/{next(iter(undisturbed))}/events"

    with killed.served(1) as server, server.client() as client:
        assert [201, 201, 201] == list(begun(client).values())
        with client.stream("GET", watched) as events:
            until(lambda: SECOND_LAPS == len(killed.second_laps))
            assert ["running"] * 3 == [client.get(f"/v1/runs/{run}").json()["state"] for run in undisturbed]
            server.process.kill()
            told = ids_told(events)
    was_asked = Counter(each.key for each in killed.second_laps)
    killed.open()
    with killed.served(2) as server, server.client() as client:
        assert [200, 200, 200] == list(begun(client).values())
        with client.stream("GET", watched, headers={"last-event-id": told[-1]}) as events:
            rest = ids_told(events)
        assert undisturbed == gists(client, undisturbed)
        with client.stream("GET", watched) as events:
            assert told + rest == ids_told(events)

    assert whole.happened + was_asked == killed.happened
