"""The API as a whole: how it is described, and what is said when something goes wrong."""

import json
import subprocess
import sys

import pytest
from fastapi.routing import APIRoute
from jsonschema import Draft202012Validator

from orchestrator import MemoryJournal
from orchestrator.errors import JournalDamaged, JournalUnusable, RunHeld
from orchestrator.journal.protocol import Outline
from orchestrator.server.app import create_app
from orchestrator.server.guard.policies import policy_of
from orchestrator.server.shapes import going
from orchestrator.server.shapes.examples import PLAN
from orchestrator.server.shapes.going import Told
from registry.messages import Json
from tests.orchestrator.server.driving import Caller, served, service_of
from tests.orchestrator.server.routes.test_runs import slug

pytestmark = pytest.mark.anyio


def described() -> Json:
    return json.loads(json.dumps(create_app(service_of()).openapi()))


def operations() -> list[tuple[str, str, Json]]:
    return [(path, method, said) for path, methods in described()["paths"].items() for method, said in methods.items()]


EXPECTED = {
    ("get", "/health"),
    ("get", "/v1/models"),
    ("get", "/v1/pending"),
    ("get", "/v1/runs"),
    ("get", "/v1/runs/{run}"),
    ("get", "/v1/runs/{run}/events"),
    ("get", "/v1/runs/{run}/pending"),
    ("get", "/v1/tools"),
    ("post", "/v1/plans/check"),
    ("post", "/v1/plans/draft"),
    ("post", "/v1/runs"),
    *(("post", f"/v1/runs/{{run}}/{word}") for word in ("cancel", "stop", "interrupt", "approve", "reject", "answer")),
}


def test_all_that_can_be_asked() -> None:
    """Is in the description, and nothing else."""
    assert EXPECTED == {(method, path) for path, method, _ in operations()}


@pytest.mark.parametrize(("path", "method", "said"), operations(), ids=lambda each: each if isinstance(each, str) else "")
def test_every_operation_is_described(path: str, method: str, said: Json) -> None:
    """In words, with what comes back when all is well and with the form of every refusal."""
    assert said["description"]
    assert any(status.startswith("2") for status in said["responses"])
    for status, answer in said["responses"].items():
        if status >= "400" and path != "/health":
            assert ["application/problem+json"] == list(answer["content"]), (status, answer)


def schemas() -> Json:
    return described()["components"]["schemas"]


@pytest.mark.parametrize("name", ["NewRun", "Why", "Message", "Approval", "AnswerIn", "PlanToCheck", "GoalToPlan"])
def test_every_body_has_an_example_that_fits(name: str) -> None:
    """An example that its own schema refuses would mislead everybody."""
    for example in schemas()[name]["examples"]:
        Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": {"schemas": schemas()}}).validate(example)


@pytest.mark.parametrize(
    "name", [name for name, kind in vars(going).items() if isinstance(kind, type) and issubclass(kind, Told)]
)
def test_every_answer_has_the_form_of_its_examples(name: str) -> None:
    """They are read by the shape itself."""
    for example in schemas().get(name, {}).get("examples", ()):
        assert example.keys() <= getattr(going, name).model_validate(example).model_dump().keys()


def test_plans_are_described() -> None:
    """By the schema that they are read by."""
    validator = Draft202012Validator({"$ref": "#/components/schemas/Plan", "components": {"schemas": schemas()}})

    validator.validate({**PLAN, "steps": [{**step, "kind": "agent"} for step in PLAN["steps"]]})  # type: ignore[union-attr,dict-item]


def test_every_reference_leads_somewhere() -> None:
    """Within the description."""
    text = json.dumps(described())
    referred = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}

    assert referred <= set(schemas())


def test_every_route_says_what_it_asks_of_the_caller() -> None:
    """None can be forgotten: a server with one that says nothing does not start."""
    app = create_app(service_of())
    routes = [route for route in app.routes if isinstance(route, APIRoute)]
    undeclared = [route.path for route in routes if policy_of(route.endpoint) is None]

    assert [] == undeclared


async def test_the_description_is_served() -> None:
    """As JSON, for tools that make clients of it."""
    async with served() as caller:
        answer = await caller.get("/openapi.json")

    assert described() == answer.json


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        pytest.param("GET", "/", (404, "not-found"), id="no such path"),
        pytest.param("GET", "/v1/runs/", (404, "not-found"), id="another path"),
        pytest.param("GET", "/docs", (404, "not-found"), id="no pages that load scripts from elsewhere"),
        pytest.param("DELETE", "/v1/runs", (405, "method-not-allowed"), id="no such method"),
    ],
)
async def test_what_is_not_there(method: str, path: str, expected: tuple[int, str]) -> None:
    """Is said in the form of all refusals."""
    async with served() as caller:
        answer = await caller.call(method, path, None, {})

    assert expected == slug(answer)
    assert (method == "DELETE") == ("allow" in answer.headers)


class Failing(MemoryJournal):
    """A journal in which looking at a run raises this."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    async def outline(self, run: str) -> Outline:
        raise self._error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(JournalUnusable("/secret/place", "no room"), (503, "unavailable"), id="no room"),
        pytest.param(JournalDamaged("/secret/place", "torn"), (500, "damaged"), id="damaged"),
        pytest.param(RunHeld("acme.x", "process 7 on secret", 3.0), (503, "unavailable"), id="held"),
    ],
)
async def test_troubles_of_the_server(error: Exception, expected: tuple[int, str]) -> None:
    """Are told without where anything is kept, or on which machine."""
    async with served(service_of(journal=Failing(error))) as caller:
        answer = await caller.get("/v1/runs/acme.x")

    assert expected == slug(answer)
    assert b"secret" not in answer.body


async def test_a_fault_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    """Is logged, and nothing of it is told."""
    async with served(service_of(journal=Failing(LookupError("the secret reason")))) as caller:
        with pytest.raises(LookupError):  # whoever runs the app hears of it too
            async with caller.open("/v1/runs/acme.x") as stream:
                await stream.until(lambda: stream.answer.whole)

    assert (500, "internal") == slug(stream.answer)
    assert b"secret" not in stream.answer.body
    assert "LookupError: the secret reason" in capsys.readouterr().err


async def test_a_request_of_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a tenant there is nothing that could be reached: the guard was forgotten, which is a fault of ours."""
    service = service_of()
    async with service:
        caller = Caller(create_app(service), "not a name")
        with pytest.raises(ValueError, match="no name of a tenant"):
            await caller.get("/v1/runs")


async def test_what_was_wrong_is_not_repeated() -> None:
    """A secret that was put in the wrong place is not sent around."""
    async with served() as caller:
        answer = await caller.post("/v1/runs", {"goal": ["hunter2"], "token": "hunter2"})

    assert 422 == answer.status
    assert b"hunter2" not in answer.body
    assert ["body/goal", "body/token"] == [each["place"] for each in answer.json["errors"]]


def test_the_library_does_without() -> None:
    """Importing it imports nothing of the server."""
    told = "import sys, orchestrator.cli.app; from orchestrator import Orchestrator; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()

    assert "orchestrator.ledger" in loaded
    assert [] == [name for name in loaded if name.startswith(("fastapi", "starlette", "orchestrator.server."))]
