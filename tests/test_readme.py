"""The README's code runs as it stands and prints what the README says."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from planner import Known, Plan, check, read_plan
from registry.testing import ScriptedModel
from registry.tools.registry import ToolRegistry

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
PRINTED = re.findall(r"It prints\n\n```\n(.*?)```", README, re.DOTALL)

CALLED = {
    "plan": {
        "steps": [{"id": city.lower(), "task": f"Find the population of {city}", "depends_on": []} for city in ("Lyon", "Nice")]
    },
    "verdict": {"achieved": True, "confidence": 1, "reasoning": "both are known", "missing": [], "final_answer": "Lyon"},
}


class Provider(BaseHTTPRequestHandler):
    """A provider that knows the two cities: it plans, asks for the tool, judges and answers."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body, kind = self._streamed(asked) if asked.get("stream") else (self._whole(asked), "application/json")
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the test's output is its own."""

    def _whole(self, asked: dict) -> bytes:
        last = asked["messages"][-1]
        tools = [each["function"]["name"] for each in asked.get("tools", [])]
        message: dict = {"role": "assistant", "content": "Written."}
        for name, arguments in CALLED.items():
            if name in tools:
                message = _calling(name, arguments)
        if "population" in tools:
            city = last["content"].removeprefix("Find the population of ")
            message = (
                {"role": "assistant", "content": "known"} if last["role"] == "tool" else _calling("population", {"city": city})
            )
        return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()

    def _streamed(self, _: dict) -> tuple[bytes, str]:
        words = ["Lyon is larger than Nice,", " by 174,165 people."]
        chunks = [{"choices": [{"delta": {"content": word}, "finish_reason": None}]} for word in words]
        chunks.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        lines = [*(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks), "data: [DONE]\n\n"]
        return "".join(lines).encode(), "text/event-stream"


def _calling(name: str, arguments: dict) -> dict:
    call = {"id": "1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


@pytest.fixture
def provider() -> Iterator[str]:
    """The address of a provider on a loopback socket."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Provider) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def ran(code: str, provider: str, folder: Path = ROOT) -> list[str]:
    environ = {"PATH": os.defpath, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "sk-of-a-test", "OPENAI_BASE_URL": provider}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=environ, cwd=folder, check=False
    )
    assert "" == done.stderr
    return done.stdout.splitlines()


def test_the_first_snippet_prints_what_it_says(provider: str) -> None:
    """The first program of the README, unchanged, with a key and an address in its environment."""
    assert PRINTED[0].splitlines() == ran(SNIPPETS[0], provider)


def test_watching_and_submitting(provider: str) -> None:
    """The snippets for async programs run one after the other, inside a coroutine."""
    first = SNIPPETS[0].split("answer = ")[0]
    inside = "".join(f"    {line}\n" for line in (SNIPPETS[1] + SNIPPETS[2]).splitlines())
    program = "\n".join(
        [
            first,
            "import anyio",
            "orchestrator = Orchestrator(connect('openai:gpt-4.1'), tools=[population])",
            "goal = 'Which is larger, Lyon or Nice?'",
            f"async def main():\n{inside}    print(answer.outcome, answer.output)",
            "anyio.run(main)",
        ]
    )

    printed = ran(program, provider)

    assert "achieved Written." == printed[-1]
    assert any(line.startswith("RunEnded(") for line in printed)


def test_a_run_outlives_its_process(provider: str, tmp_path: Path) -> None:
    """The snippet with the journal leaves a file, and a resumed run has the same answer."""
    imports, body = SNIPPETS[3].split("\n\n", 1)
    inside = "".join(f"    {line}\n" for line in body.splitlines())
    main = f"goal = 'Which is larger, Lyon or Nice?'\nasync def main():\n{inside}import anyio\nanyio.run(main)"

    assert ["True"] == ran("\n".join([SNIPPETS[0].split("answer = ")[0], imports, main]), provider, tmp_path)
    assert (tmp_path / "runs.sqlite3").is_file()


def test_the_readme_names_real_files() -> None:
    """Every relative link and every script that the README names exists."""
    links = re.findall(r"\]\(([A-Z]+\.md)\)", README) + re.findall(r"sh (scripts/\w+)", README)

    assert links
    assert [] == [link for link in links if not (ROOT / link).exists()]


def test_the_plan_in_the_readme_can_be_run() -> None:
    """The plan that shows the language has no findings."""
    (text,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    plan = Plan.of(read_plan(text, name="plan.yaml"))

    assert () == check(plan, Known.of(ToolRegistry(), {"reasoning": ScriptedModel([])}, {"harbours": ["Oslo"]}))
