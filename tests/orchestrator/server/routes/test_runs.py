"""Runs over HTTP: begun, listed, looked at, and ended."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from orchestrator import MemoryJournal
from orchestrator.errors import RunHeld
from orchestrator.events.facts import RunStarted, StopRequested
from orchestrator.journal.protocol import Writer
from orchestrator.limits import Limits
from orchestrator.server.app import create_app
from tests.orchestrator.server.driving import Answered, Caller, Held, ended, in_state, ordinary, served, service_of

pytestmark = pytest.mark.anyio

PLAN = {"goal": "g", "steps": [{"id": "a", "task": "do a"}, {"id": "b", "task": "do b", "needs": "a"}]}


def slug(answer: Answered) -> tuple[int, str]:
    assert "application/problem+json" == answer.headers["content-type"], answer.body
    return answer.status, answer.json["type"].removeprefix("urn:dagwright:")


async def test_a_goal_begins_a_run() -> None:
    """Its place is told, and what it came to can be looked at."""
    async with served() as caller:
        answer = await caller.post("/v1/runs", {"goal": "Compare the harbours"})
        run = answer.json["id"]
        report = await ended(caller, run)

    assert (201, f"/v1/runs/{run}") == (answer.status, answer.headers["location"])
    assert ("achieved", "The harbours differ in their ice.", "Compare the harbours") == (
        report["state"],
        report["answer"],
        report["goal"],
    )
    assert [("north", "completed"), ("south", "completed")] == [(step["id"], step["state"]) for step in report["steps"]]
    assert 5 == report["usage"]["requests"]


async def test_a_plan_begins_a_run() -> None:
    """With the values of its inputs."""
    plan = {"goal": "g", "inputs": {"city": {}}, "steps": [{"id": "a", "task": "Look at ${inputs.city}"}]}
    async with served() as caller:
        run = (await caller.post("/v1/runs", {"plan": plan, "inputs": {"city": "Bern"}})).json["id"]
        report = await ended(caller, run)

    assert ("achieved", "found for Look at Bern") == (report["state"], report["steps"][0]["output"])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({}, (422, "bad-request"), id="nothing"),
        pytest.param({"goal": " "}, (422, "bad-request"), id="an empty goal"),
        pytest.param({"goal": "g", "plan": PLAN}, (422, "bad-request"), id="both"),
        pytest.param({"goal": "g", "inputs": {"x": 1}}, (422, "bad-request"), id="inputs of a goal"),
        pytest.param({"goal": "g", "models": ["big"]}, (422, "bad-request"), id="models of its own"),
        pytest.param({"goal": "g", "tools": ["os:system"]}, (422, "bad-request"), id="tools of its own"),
        pytest.param({"goal": "g", "limits": {"rounds": 4}}, (422, "bad-limits"), id="limits above the server's"),
        pytest.param({"goal": "g", "limits": {"rounds": 0}}, (422, "bad-request"), id="limits that are none"),
        pytest.param({"goal": "g", "limits": {"unpriced": "allow"}}, (422, "bad-request"), id="a policy of the server's"),
        pytest.param({"plan": {"goal": "g", "steps": []}}, (422, "bad-plan"), id="no plan"),
        pytest.param(
            {"plan": {**PLAN, "steps": [{"id": "a", "task": "t", "tools": ["x"]}]}}, (422, "bad-plan"), id="no such tool"
        ),
        pytest.param({"goal": "half \ud800"}, (422, "bad-request"), id="half a character"),
        pytest.param(b"{", (400, "bad-request"), id="no JSON"),
        pytest.param(b"[]", (422, "bad-request"), id="no object"),
        pytest.param(b'{"goal": "g", "inputs": {"x": NaN}}', (422, "bad-request"), id="no number"),
        pytest.param(b'{"goal": "g", "x": ' + b"9" * 5000 + b"}", (400, "bad-request"), id="a long number"),
    ],
)
async def test_what_can_not_be_had_is_refused(body: Any, expected: tuple[int, str]) -> None:
    """With the reason, before anything begins."""
    import json

    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with served() as caller:
        assert expected == slug(await caller.post("/v1/runs", sent))
        assert [] == (await caller.get("/v1/runs")).json["runs"]


async def test_a_wrong_plan_is_explained() -> None:
    """Every finding, with its place."""
    async with served() as caller:
        answer = await caller.post("/v1/runs", {"plan": "goal: g\nsteps:\n- id: a\n  task: t\n  needs: b\n"})

    assert [("P005", "/steps/0/depends_on/0", 5)] == [
        (each["code"], each["place"], each["line"]) for each in answer.json["diagnostics"]
    ]


class TestIdempotency:
    """Whoever sends a key again gets the same run."""

    async def test_the_same_request(self) -> None:
        """Is answered with the run that it began, however often and at whatever time."""
        async with served() as caller:
            first = await caller.post("/v1/runs", {"goal": "g"}, idempotency_key="k")
            second = await caller.post("/v1/runs", {"goal": "g"}, idempotency_key="k")
            await ended(caller, first.json["id"])
            third = await caller.post("/v1/runs", {"goal": "g"}, idempotency_key="k")
            runs = (await caller.get("/v1/runs")).json["runs"]

        assert [201, 200, 200] == [answer.status for answer in (first, second, third)]
        assert {first.json["id"]} == {answer.json["id"] for answer in (first, second, third)} == {run["id"] for run in runs}

    async def test_another_request(self) -> None:
        """Is refused, and names the run."""
        async with served() as caller:
            first = await caller.post("/v1/runs", {"goal": "g"}, idempotency_key="k")
            other = await caller.post("/v1/runs", {"goal": "h"}, idempotency_key="k")

        assert (422, "key-reused") == slug(other)
        assert first.json["id"] == other.json["run"]

    async def test_at_the_same_time(self) -> None:
        """Twenty at once begin one run."""
        answers = list[Answered]()
        async with served() as caller:

            async def ask() -> None:
                answers.append(await caller.post("/v1/runs", {"goal": "g"}, idempotency_key="k"))

            async with anyio.create_task_group() as group:
                for _ in range(20):
                    group.start_soon(ask)

        assert 1 == len({answer.json["id"] for answer in answers})
        assert [200] * 19 + [201] == sorted(answer.status for answer in answers)

    async def test_across_a_restart(self) -> None:
        """The journal knows it, and not the process."""
        journal = MemoryJournal()
        async with served(service_of(journal=journal)) as caller:
            first = await caller.post("/v1/runs", {"goal": "g"}, idempotency_key="k")
        async with served(service_of(journal=journal)) as caller:
            second = await caller.post("/v1/runs", {"goal": "g"}, idempotency_key="k")

        assert (first.json["id"], 200) == (second.json["id"], second.status)

    async def test_a_key_that_never_came_to_anything(self) -> None:
        """A server that died before it wrote anything down has taken the key from nobody."""
        journal = MemoryJournal()
        async with served(service_of(journal=journal)) as caller:
            run = (await caller.post("/v1/runs", {"goal": "g"}, idempotency_key="k")).json["id"]
        fresh = MemoryJournal()
        await (await fresh.claim(run, holder="dead", ttl=60)).release()
        async with served(service_of(journal=fresh)) as caller:
            answer = await caller.post("/v1/runs", {"goal": "g"}, idempotency_key="k")

        assert (201, run) == (answer.status, answer.json["id"])

    async def test_while_another_server_is_beginning_it(self) -> None:
        """One looks again until that is written down."""

        class Slow(MemoryJournal):
            held = 3

            async def claim(self, run: str, **given: Any) -> Writer:  # type: ignore[override]
                if self.held:
                    self.held -= 1
                    await super().claim(run, holder="another", ttl=0.0)
                    raise RunHeld(run, "another", 1.0)
                return await super().claim(run, **given)

        async with served(service_of(journal=Slow())) as caller:
            assert 201 == (await caller.post("/v1/runs", {"goal": "g"}, idempotency_key="k")).status

    @pytest.mark.parametrize("key", ["x" * 256, "a b", "\x7f"])
    async def test_what_is_no_key(self, key: str) -> None:
        """Is refused."""
        async with served() as caller:
            assert (422, "bad-request") == slug(await caller.post("/v1/runs", {"goal": "g"}, idempotency_key=key))

    async def test_keys_of_another_tenant(self) -> None:
        """Are other keys."""
        service = service_of()
        async with service:
            app = create_app(service)
            one = await Caller(app, "one").post("/v1/runs", {"goal": "g"}, idempotency_key="k")
            two = await Caller(app, "two").post("/v1/runs", {"goal": "h"}, idempotency_key="k")

        assert (201, 201) == (one.status, two.status)

    async def test_an_attached_run_has_none(self) -> None:
        """Who asks again is another client."""
        async with served() as caller:
            answer = await caller.post("/v1/runs", {"goal": "g", "attached": True}, idempotency_key="k")

        assert (422, "bad-request") == slug(answer)


async def test_no_place_for_an_attached_run() -> None:
    """It does not wait with its client holding the line."""
    model = Held(ordinary())
    async with served(service_of(model, width=1)) as caller:
        await caller.post("/v1/runs", {"goal": "g"})
        await model.until_asked()

        assert (503, "unavailable") == slug(await caller.post("/v1/runs", {"goal": "g", "attached": True}))


OTHERS: tuple[tuple[str, str, Any], ...] = (
    ("GET", "", None),
    ("GET", "/events", None),
    ("GET", "/pending", None),
    ("POST", "/cancel", {}),
    ("POST", "/stop", {}),
    ("POST", "/interrupt", {"text": "x"}),
    ("POST", "/approve", {"waiting": "x"}),
    ("POST", "/reject", {"waiting": "x"}),
    ("POST", "/answer", {"waiting": "x", "text": "y"}),
)


@pytest.mark.parametrize(("method", "rest", "body"), OTHERS)
async def test_another_tenants_run_is_no_run(method: str, rest: str, body: Any) -> None:
    """Whatever is asked, the answer is the one for a run that never was, and nothing of it changes."""
    model = Held(ordinary())
    service = service_of(model)
    async with service:
        app = create_app(service)
        run = (await Caller(app, "one").post("/v1/runs", {"goal": "g"})).json["id"]
        await model.until_asked(2)
        before = (await Caller(app, "one").get(f"/v1/runs/{run}")).json["events"]
        foreign = await Caller(app, "two").call(method, f"/v1/runs/{run}{rest}", body, {})
        unknown = await Caller(app, "two").call(method, f"/v1/runs/{run[:-1]}z{rest}", body, {})

        assert (404, "unknown-run") == slug(foreign)
        assert foreign.body.replace(run.encode(), b"") == unknown.body.replace(f"{run[:-1]}z".encode(), b"")
        assert [] == (await Caller(app, "two").get("/v1/runs")).json["runs"]
        assert before == (await Caller(app, "one").get(f"/v1/runs/{run}")).json["events"]


async def test_runs_are_listed_in_pages() -> None:
    """The newest first; each page says where the next one begins."""
    async with served() as caller:
        runs = [(await caller.post("/v1/runs", {"goal": str(number)})).json["id"] for number in range(5)]
        pages, cursor = [], ""
        while True:
            page = (await caller.get(f"/v1/runs?limit=2&cursor={cursor}")).json
            pages.append([run["id"] for run in page["runs"]])
            if page["next"] is None:
                break
            cursor = page["next"]

    assert list(reversed(runs)) == [run for page in pages for run in page]
    assert all(len(page) <= 2 for page in pages)


async def test_runs_are_listed_by_state() -> None:
    """One state or several."""
    async with served(service_of(Held(ordinary()))) as caller:
        one = (await caller.post("/v1/runs", {"goal": "g"})).json["id"]
        other = (await caller.post("/v1/runs", {"goal": "g"})).json["id"]
        await caller.post(f"/v1/runs/{one}/cancel")
        await in_state(caller, one, "cancelled")
        await in_state(caller, other, "running")

        async def listed(query: str) -> list[str]:
            return [run["id"] for run in (await caller.get(f"/v1/runs?{query}")).json["runs"]]

        assert [[one], [other], [other, one], []] == [
            await listed(query)
            for query in ("state=cancelled", "state=running", "state=running&state=cancelled", "state=missing")
        ]


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "state=nice", "limit=x"])
async def test_a_list_that_is_none(query: str) -> None:
    """Is refused."""
    async with served() as caller:
        assert (422, "bad-request") == slug(await caller.get(f"/v1/runs?{query}"))


async def test_a_cursor_that_leads_nowhere() -> None:
    """Is no run of yours."""
    async with served() as caller:
        assert (404, "unknown-run") == slug(await caller.get("/v1/runs?cursor=other.1"))


Word = Callable[[Caller, str], Awaitable[Answered]]

WORDS: dict[str, Word] = {
    "cancel": lambda caller, run: caller.post(f"/v1/runs/{run}/cancel", {"why": "enough"}),
    "stop": lambda caller, run: caller.post(f"/v1/runs/{run}/stop", {"why": "enough"}),
    "interrupt": lambda caller, run: caller.post(f"/v1/runs/{run}/interrupt", {"text": "also this"}),
    "approve": lambda caller, run: caller.post(f"/v1/runs/{run}/approve", {"waiting": "x"}),
}


async def test_a_run_is_cancelled() -> None:
    """What runs is cancelled, and saying so again changes nothing."""
    model = Held(ordinary())
    async with served(service_of(model)) as caller:
        run = (await caller.post("/v1/runs", {"plan": PLAN})).json["id"]
        await model.until_asked()
        answer = await WORDS["cancel"](caller, run)
        report = await ended(caller, run)
        again = await WORDS["cancel"](caller, run)

    assert (202, 202, "cancelled", 1) == (answer.status, again.status, report["state"], model.left)


async def test_a_run_is_stopped() -> None:
    """What runs finishes, the rest is skipped with the reason, and there is an answer."""
    model = Held(ordinary())
    async with served(service_of(model)) as caller:
        run = (await caller.post("/v1/runs", {"plan": PLAN})).json["id"]
        await model.until_asked()
        answer = await WORDS["stop"](caller, run)
        model.open.set()
        report = await ended(caller, run)

    assert 202 == answer.status
    assert ["completed", "skipped"] == [step["state"] for step in report["steps"]]
    assert "the run was stopped: enough" == report["steps"][1]["error"]
    assert report["answer"]


async def test_a_run_that_waits_is_stopped() -> None:
    """It is woken for it: what waits for a person is skipped too."""
    plan = {"goal": "g", "steps": [{"id": "a", "task": "do a"}, {"id": "ask", "kind": "approval", "question": "May I?"}]}
    journal = MemoryJournal()
    async with served(service_of(journal=journal)) as caller:
        run = (await caller.post("/v1/runs", {"plan": plan})).json["id"]
        await in_state(caller, run, "suspended")
        await WORDS["stop"](caller, run)
        report = await ended(caller, run)

    assert [("a", "completed"), ("ask", "skipped")] == [(step["id"], step["state"]) for step in report["steps"]]
    assert 1 == sum(isinstance(each.event, StopRequested) for each in await journal.read(run))
    assert [] == report["waiting"]


async def test_a_message_reaches_a_run() -> None:
    """And those who watch it."""
    model = Held(ordinary())
    async with served(service_of(model)) as caller:
        run = (await caller.post("/v1/runs", {"goal": "g"})).json["id"]
        await model.until_asked()
        answer = await WORDS["interrupt"](caller, run)
        model.open.set()
        events = await caller.followed(run)

    assert 202 == answer.status
    assert ["also this"] == [event.data["content"] for event in events if event.channel == "inject"]


@pytest.mark.parametrize("word", WORDS)
async def test_a_run_that_has_ended_hears_nothing(word: str) -> None:
    """Whoever speaks to it is told how it ended."""
    async with served() as caller:
        run = (await caller.post("/v1/runs", {"goal": "g"})).json["id"]
        await ended(caller, run)
        answer = await WORDS[word](caller, run)

    assert (409, "run-over") == slug(answer)
    assert "achieved" == answer.json["state"]


async def test_a_run_that_was_claimed_and_not_begun_is_none() -> None:
    """Nothing was written down, so there is nothing to show."""
    journal = MemoryJournal()
    await journal.claim("acme.x", holder="dead", ttl=60)
    async with served(service_of(journal=journal)) as caller:
        assert (404, "unknown-run") == slug(await caller.get("/v1/runs/acme.x"))
        assert [] == (await caller.get("/v1/runs")).json["runs"]


async def test_limits_are_written_down() -> None:
    """Those of the server where nothing is asked."""
    journal = MemoryJournal()
    async with served(service_of(journal=journal, limits=Limits(max_tokens=1000))) as caller:
        run = (await caller.post("/v1/runs", {"goal": "g", "limits": {"max_requests": 7}})).json["id"]
    started = (await journal.read(run))[0].event

    assert isinstance(started, RunStarted)
    assert (1000, 7) == (started.limits.tokens, started.limits.requests)
