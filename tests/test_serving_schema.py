"""The whole API of a real server, asked at random along its own description. `pytest --requests 1000` asks for long."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.generation import GenerationMode
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.serving.process import PATIENCE, TOKEN, Server, served

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
CONFIG = {
    "generation": {"with-security-parameters": False, "allow-extra-parameters": False},
    "checks": {"negative_data_rejection": {"expected-statuses": ["4xx"]}},
}
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
APPROVAL = {"goal": "Ask first", "steps": [{"id": "ask", "kind": "approval", "question": "Shall it be?"}]}

pytestmark = [pytest.mark.real_clock, pytest.mark.timeout(3600)]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """One for each test, for it counts wrong tokens."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    (tmp_path / "outside").mkdir()
    for door in ("laps", "answer"):
        (tmp_path / door).touch()
    (tmp_path / "dagwright.toml").write_text("[server]\nrequests_per_second = 100000.0\n")
    with served(tmp_path, program="tests.serving.stage", environ={"STAGE": str(tmp_path)}) as server:
        yield server


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
def test_every_operation_keeps_its_word(mode: GenerationMode, server: Server, pytestconfig: pytest.Config) -> None:
    """Asked as described or in any other way, it has no fault, and answers with statuses, media types and shapes as declared."""
    config = SchemathesisConfig.from_dict(CONFIG)
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json", headers=AUTHORIZED, config=config)
    runs, operations = begun(server), [found.ok() for found in schema.get_all_operations()]
    assert {"POST /v1/runs", "GET /v1/runs/{run}/events", "POST /v1/login", "GET /health"} < {each.label for each in operations}
    for operation in operations:
        if mode == GenerationMode.POSITIVE or operation.body or operation.query:  # no path is wrong: all texts may stand there
            asked_at_random(operation, mode, runs, pytestconfig.getoption("requests"))


def begun(server: Server) -> list[str]:
    """A run that has ended, and one that waits."""
    with server.client() as client:
        runs = [
            client.post("/v1/runs", json=wanted).json()["id"] for wanted in ({"goal": "Describe the sea"}, {"plan": APPROVAL})
        ]
        client.get(f"/v1/runs/{runs[0]}/events")
    return runs


def asked_at_random(operation: APIOperation, mode: GenerationMode, runs: list[str], times: int) -> None:
    known = runs[:1] if operation.path.endswith("/events") else runs  # the events of one that waits have no end

    @settings(max_examples=times, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode), run=st.none() | st.sampled_from(known))
    def ask(case: schemathesis.Case, run: str | None) -> None:
        if run is not None and "run" in case.path_parameters:
            case.path_parameters["run"] = run
        response = case.call(headers=AUTHORIZED, timeout=PATIENCE)
        case.validate_response(response, checks=CHECKS)

    ask()
