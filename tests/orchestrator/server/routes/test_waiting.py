"""What waits for a person, over HTTP."""

from typing import Any

import pytest

from orchestrator import MemoryJournal
from orchestrator.events.facts import Answered
from orchestrator.server.app import create_app
from registry.builtin import ask_user
from registry.messages import Request
from registry.testing import Line, asks
from tests.orchestrator.server.driving import Caller, ended, in_state, ordinary, served, service_of
from tests.orchestrator.server.routes.test_runs import slug

pytestmark = pytest.mark.anyio

PLAN = {
    "goal": "g",
    "steps": [
        {"id": "one", "kind": "approval", "question": "May I?"},
        {"id": "two", "kind": "approval", "question": "And this?"},
    ],
}


async def waiting(caller: Caller, plan: Any = PLAN) -> tuple[str, list[Any]]:
    run = (await caller.post("/v1/runs", {"plan": plan})).json["id"]
    report = await in_state(caller, run, "suspended")
    return run, report["waiting"]


async def test_what_waits_is_shown_whole() -> None:
    """With what can be said to it, in its run and among all; and no longer when it was said."""
    async with served() as caller:
        run, shown = await waiting(caller)
        own = (await caller.get(f"/v1/runs/{run}/pending")).json["waiting"]
        everything = (await caller.get("/v1/pending")).json["waiting"]
        await caller.post(f"/v1/runs/{run}/approve", {"waiting": shown[0]["id"]})
        await in_state(caller, run, "suspended")
        left = (await caller.get("/v1/pending")).json["waiting"]

    assert shown == own == everything
    assert [("one", "May I?"), ("two", "And this?")] == [(each["step_id"], each["what"]) for each in shown]
    assert {"run": run, "kind": "approval", "decisions": ["approve", "reject"]}.items() <= shown[0].items()
    assert shown[1:] == left


async def test_what_waits_is_answered() -> None:
    """One is allowed, one refused, and the run goes on when both are; who said so is written down."""
    journal = MemoryJournal()
    async with served(service_of(journal=journal)) as caller:
        run, (one, two) = await waiting(caller)
        approved = await caller.post(f"/v1/runs/{run}/approve", {"waiting": one["id"], "by": "Ada", "text": "go"})
        rejected = await caller.post(f"/v1/runs/{run}/reject", {"waiting": two["id"], "text": "too dear"})
        report = await ended(caller, run)
    said = [recorded.event for recorded in await journal.read(run) if isinstance(recorded.event, Answered)]

    assert (200, 200) == (approved.status, rejected.status)
    assert [("approve", "Ada", "go"), ("reject", "", "too dear")] == [(each.decision, each.by, each.text) for each in said]
    assert ["completed", "failed"] == [step["state"] for step in report["steps"]]


async def test_a_question_is_answered() -> None:
    """The model reads it."""

    def step(request: Request) -> Line:
        last = request.messages[-1]
        return f"so it is {last.text}" if last.role == "tool" else asks("ask_user", question="Which one?")

    plan = {"goal": "g", "steps": [{"id": "a", "task": "ask"}]}
    async with served(service_of(ordinary(step=step), tools=[ask_user])) as caller:
        run, (question,) = await waiting(caller, plan)
        await caller.post(f"/v1/runs/{run}/answer", {"waiting": question["id"], "text": "the red one"})
        report = await ended(caller, run)

    assert ("question", ["answer"]) == (question["kind"], question["decisions"])
    assert "so it is the red one" == report["steps"][0]["output"]


@pytest.mark.parametrize(
    ("route", "body"),
    [
        pytest.param("approve", {"waiting": "nope"}, id="nothing waits under it"),
        pytest.param("answer", {"text": "yes"}, id="no such answer to an approval"),
    ],
)
async def test_an_answer_that_does_not_fit(route: str, body: dict[str, str]) -> None:
    """Is refused, with what there is."""
    async with served() as caller:
        run, shown = await waiting(caller)
        answer = await caller.post(f"/v1/runs/{run}/{route}", {"waiting": shown[0]["id"], **body})

    assert (409, "unknown-waiting") == slug(answer)


async def test_the_first_answer_counts() -> None:
    """Another one is refused."""
    async with served() as caller:
        run, (one, _) = await waiting(caller)
        await caller.post(f"/v1/runs/{run}/approve", {"waiting": one["id"]})
        again = await caller.post(f"/v1/runs/{run}/reject", {"waiting": one["id"]})

    assert (409, "unknown-waiting") == slug(again)


async def test_nothing_of_others_is_pending() -> None:
    """Each tenant sees their own."""
    service = service_of()
    async with service:
        app = create_app(service)
        await waiting(Caller(app, "one"))

        assert [] == (await Caller(app, "two").get("/v1/pending")).json["waiting"]
