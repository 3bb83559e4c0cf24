"""The program as users start it: a process of its own, with a model server on the loopback interface."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.orchestrator.cli.terminal import plan_file

ROOT = Path(__file__).parents[3]
PLAN = "goal: g\nsteps: [{id: a, task: Say hello}]\noutput: ${steps.a.output}"

KILLED = """
goal: Note the tide
steps:
  - {id: note, kind: tool, tool: note, args: {text: the tide is out}}
  - {id: wait, kind: tool, tool: wait, depends_on: [note]}
  - {id: last, kind: tool, tool: current_time, depends_on: [wait]}
output: ${steps.note.output}
"""
TOOLS = """
import time
from pathlib import Path
from registry.tools.function import tool

@tool(effect="unkeyed")
def note(text: str) -> str:
    "Write a line."
    with Path("notes.txt").open("a") as notes:
        notes.write(text + "\\n")
    return "noted: " + text

@tool(effect="pure")
def wait() -> str:
    "Wait for a file."
    while not Path("go").exists():
        time.sleep(0.01)
    return "gone"
"""


class Server(ThreadingHTTPServer):
    """Answers every chat with "Hello"; a slow one takes the question and never answers."""

    daemon_threads = True

    def __init__(self, *, slow: bool) -> None:
        super().__init__(("127.0.0.1", 0), Chat)
        self.slow = slow
        self.asked, self.over = threading.Event(), threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Chat(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.asked.set()
        if self.server.slow:
            self.server.over.wait(30)
            return
        body = json.dumps({"choices": [{"message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the test's output is its own."""


@contextmanager
def serving(*, slow: bool = False) -> Iterator[Server]:
    with Server(slow=slow) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join()


@contextmanager
def started(*arguments: str | Path, folder: Path, environ: Mapping[str, str] | None = None) -> Iterator["subprocess.Popen[str]"]:
    """The program with nothing in its environment but what is given. Its journal is in the folder."""
    command = [sys.executable, "-m", "orchestrator", *map(str, arguments)]
    environ = {"PYTHONPATH": str(ROOT), "DAGWRIGHT_JOURNAL": str(folder / "journal.sqlite3"), **(environ or {})}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=folder, env=environ, text=True, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_plan_is_done(tmp_path: Path) -> None:
    """Key and address in the environment are all it takes; the answer alone is on stdout."""
    with serving() as server:
        environ = {"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": server.url, "OPENAI_MODEL": "m"}
        with started("run", plan_file(tmp_path, PLAN), folder=tmp_path, environ=environ) as process:
            out, err = process.communicate(timeout=30)

    assert (0, "Hello\n") == (process.returncode, out)
    assert "next:" in err.splitlines()[-1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_cleanly(number: signal.Signals, tmp_path: Path) -> None:
    """The run writes down that it was interrupted, the last line says how to go on, and the exit code is 130."""
    with serving(slow=True) as server:
        environ = {"OPENAI_BASE_URL": server.url, "OPENAI_MODEL": "m"}
        with started("run", "--json", plan_file(tmp_path, PLAN), folder=tmp_path, environ=environ) as process:
            assert server.asked.wait(30)
            process.send_signal(number)
            out, err = process.communicate(timeout=30)

    assert process.returncode == 130
    last = json.loads(out.splitlines()[-1])
    assert last["event"]["kind"] == "run_interrupted"
    assert err == f"dagwright: interrupted; go on with: dagwright resume {last['run']}\n"
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["--help"], 0, id="help"),
        pytest.param(["runs"], 0, id="no runs yet"),
        pytest.param(["show", "x"], 2, id="no such run"),
        pytest.param(["--version"], 0, id="version"),
        pytest.param(["run"], 2, id="no goal"),
        pytest.param(["cook"], 2, id="no such command"),
        pytest.param(["run", "g", "--model", "openai:x"], 2, id="no key"),
        pytest.param(["run", "g", "--config", "absent.toml"], 2, id="no such settings"),
        pytest.param(["check", "circle.yaml"], 1, id="a wrong plan"),
        pytest.param(["run", "circle.yaml"], 1, id="a wrong plan to run"),
    ],
)
def test_exit_codes(arguments: list[str], code: int, tmp_path: Path) -> None:
    """However it ends, no traceback reaches the user."""
    plan_file(tmp_path, "goal: g\nsteps: [{id: a, task: t, depends_on: a}]", "circle.yaml")

    with started(*arguments, folder=tmp_path) as process:
        _, err = process.communicate(timeout=30)

    assert code == process.returncode
    assert "Traceback" not in err


def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    """Whatever died with kill -9: the next process finds the run free, does what is left, and repeats nothing."""
    (tmp_path / "harbour_tools.py").write_text(TOOLS)
    path = plan_file(tmp_path, KILLED)
    tools = ["--tools", "harbour_tools:note", "--tools", "harbour_tools:wait"]
    with serving() as server:
        environ = {"OPENAI_BASE_URL": server.url, "OPENAI_MODEL": "m"}
        with started("run", path, *tools, folder=tmp_path, environ=environ) as process:
            for line in process.stderr or ():
                if "calls wait" in line:
                    break
            process.kill()
            process.wait(30)
        (tmp_path / "go").touch()
        with started("runs", "--json", folder=tmp_path) as process:
            run = json.loads(process.communicate(timeout=30)[0])
        with started("resume", run["run"][:4], folder=tmp_path, environ=environ) as process:
            out, _ = process.communicate(timeout=30)

    assert ("interrupted", 1, 3) == (run["state"], run["done"], run["steps"])
    assert (0, "noted: the tide is out\n") == (process.returncode, out)
    assert "the tide is out\n" == (tmp_path / "notes.txt").read_text()


def test_help_comes_at_once() -> None:
    """What the commands need is imported when they run."""
    heavy = ("sqlite3", "rich", "pydantic", "anyio", "networkx", "httpx", "orchestrator.orchestrator")
    code = f"import orchestrator.cli.app, sys; print([name for name in {heavy!r} if name in sys.modules])"

    shown = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )

    assert "[]\n" == shown.stdout


def test_a_bug_is_owned_up_to(tmp_path: Path) -> None:
    """What nobody expected is one sentence too, and the rest is for those who ask."""
    bug = "import orchestrator.cli.app as app\ndef broken(): return lambda **_: 1 // 0\napp.command = broken\n"
    start = "from orchestrator.cli import main\nmain()"

    ended = subprocess.run(
        [sys.executable, "-c", bug + start], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )

    assert ended.returncode == 1
    assert ended.stderr.startswith("dagwright: a bug in dagwright: ZeroDivisionError")
    assert "Traceback" not in ended.stderr
