"""Public faults of kind E, concurrency, durability and server: each case stands for its kind."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import trio

from orchestrator import MemoryJournal, Orchestrator
from orchestrator.errors import LoopRunning
from registry.http import HttpDoor
from registry.messages import Json
from registry.openai import OpenAIModel
from tests.orchestrator.parts import judged, planned

CASES: Mapping[str, Mapping[str, Json]] = {
    case["id"]: case for case in map(json.loads, (Path(__file__).parent / "data" / "kind_e.jsonl").read_text().splitlines())
}


def case(case_id: str) -> pytest.MarkDecorator:
    """The test of one case, under its name: the case says what went in and what is right."""
    return pytest.mark.parametrize("case", [pytest.param(CASES[case_id], id=case_id)])


class _Answers(BaseHTTPRequestHandler):
    """An endpoint that plays every part of a small run, and keeps its connections open."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps({"choices": [{"index": 0, **_choice(asked)}], "model": "m"}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Says nothing."""


def _choice(asked: Json) -> Json:
    names = [tool["function"]["name"] for tool in asked.get("tools", ())]
    replies = {"plan": planned("x"), "verdict": judged(True)}
    calls = [
        {"id": "call_1", "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for name in names
        for call in replies[name].calls
    ]
    if calls:
        return {"message": {"role": "assistant", "content": None, "tool_calls": calls}, "finish_reason": "tool_calls"}
    goal = asked["messages"][-1]["content"].partition("\n")[0]
    return {"message": {"role": "assistant", "content": f"answer to {goal}"}, "finish_reason": "stop"}


@contextmanager
def endpoint() -> Iterator[OpenAIModel]:
    """A model behind a real HTTP door, at a server on a loopback socket."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    serving = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/v1"
        yield OpenAIModel("local:m", model="m", base_url=url, api_key=None, door=HttpDoor())
    finally:
        server.shutdown()
        serving.join()
        server.socket.close()


@case("E18")
def test_run_sync_twice_in_one_process(case: Mapping[str, Json]) -> None:
    """The second run has a loop of its own, and no connection of the first."""
    assert "agent.run_sync('a'); agent.run_sync('b')" == case["input"]["code"]
    with endpoint() as model:
        agent = Orchestrator(model)
        answers = [agent.run_sync("a"), agent.run_sync("b")]

    assert [("achieved", "answer to a"), ("achieved", "answer to b")] == [(each.outcome, each.output) for each in answers]


@case("E19")
@pytest.mark.parametrize("run", [asyncio.run, lambda main: trio.run(lambda: main)], ids=["asyncio", "trio"])
def test_run_sync_inside_a_running_loop(case: Mapping[str, Json], run: Callable[[Coroutine[None, None, None]], None]) -> None:
    """One clear error that names the async call; no coroutine is left behind that nobody awaits."""
    assert "async def main(): agent.run_sync('a')" == case["input"]["code"][0]
    journal = MemoryJournal()

    async def main() -> None:
        with pytest.raises(LoopRunning, match=r"running event loop; use `await orchestrator\.run\(\.\.\.\)`"):
            agent.run_sync("a")

    with endpoint() as model:
        agent = Orchestrator(model, journal=journal)
        run(main())
        assert "achieved" == agent.run_sync("a").outcome


@case("E19")
def test_run_sync_with_a_closed_current_loop(case: Mapping[str, Json]) -> None:
    """A closed loop that somebody left as the current one is nobody's business."""
    assert "asyncio.set_event_loop(closed_loop); agent.run_sync('a')" == case["input"]["code"][1]
    closed = asyncio.new_event_loop()
    closed.close()
    asyncio.set_event_loop(closed)
    try:
        with endpoint() as model:
            answer = Orchestrator(model).run_sync("a")
    finally:
        asyncio.set_event_loop(None)

    assert ("achieved", "answer to a") == (answer.outcome, answer.output)
