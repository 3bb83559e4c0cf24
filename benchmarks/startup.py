"""How long until something happens: imports, `--help`, and the first byte at a model server.

    python benchmarks/startup.py [--rounds 9]

Each figure is the median of interleaved rounds of fresh processes, and is also given as a ratio to a bare `import asyncio`.
"""

import argparse
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

PLAN = {"goal": "say hello", "steps": [{"id": "hello", "task": "Say hello."}]}
IMPORTS = {
    "import asyncio": "import asyncio",
    "import orchestrator": "import orchestrator",
    "from orchestrator import Orchestrator": "from orchestrator import Orchestrator",
}


def seconds(command: list[str], **env: str) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env={"PATH": "", **env})
    return time.perf_counter() - began


def first_byte() -> float:
    """Seconds from the start of `dagwright run plan.json` to the first byte that reaches the server."""
    arrived: list[float] = []
    with socket.create_server(("127.0.0.1", 0)) as server, tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.json"
        plan.write_text(json.dumps(PLAN))

        def listen() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1)
                arrived.append(time.perf_counter())

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        env = {
            "PATH": "",
            "OPENAI_API_KEY": "sk-none",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{server.getsockname()[1]}/v1",
            "OPENAI_MODEL": "mock",
        }
        began = time.perf_counter()
        child = subprocess.Popen(
            [sys.executable, "-m", "orchestrator", "run", str(plan)],
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        listener.join(30)
        child.kill()
        child.wait()
    return arrived[0] - began


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    taken: dict[str, list[float]] = {}
    for _ in range(rounds + 1):  # the first round only warms the page cache
        for name, code in IMPORTS.items():
            taken.setdefault(name, []).append(seconds([sys.executable, "-c", code]))
        taken.setdefault("dagwright --help", []).append(seconds([sys.executable, "-m", "orchestrator", "--help"]))
        taken.setdefault("first byte of dagwright run plan.json", []).append(first_byte())
    medians = {name: statistics.median(times[1:]) for name, times in taken.items()}
    floor = medians["import asyncio"]
    for name, median in medians.items():
        print(f"{name:42} {median * 1e3:7.0f} ms  {median / floor:5.2f} x import asyncio")


if __name__ == "__main__":
    main()
