"""What a model call costs in CPU within an agent's loop, beside the least that it could, and beside other frameworks.

    taskset -c 0 python benchmarks/react.py [--url http://127.0.0.1:8901/v1] [--calls 600] [--rounds 7]

An agent calls its tool k times, a call a lap, and then answers: k + 1 model calls. "ours" goes through all layers of a connected
model, "bare" is a loop over aiohttp and orjson which sends the same and checks nothing, "engine" is ours with a model in this
process, so without the wire. The server is a mock that knows `[[k=3;l=0]]` in a prompt: three calls, no latency; without a URL,
a stand-in in a process of its own. Each figure is the CPU of this process for a model call, the median of interleaved rounds.

The peers are `peer_*.py` in the folder that $BENCH names, with their environments in $BENCH_WORK/venvs; those that are not
there are named. Exits with 1 when a call of ours costs more than four times as much as a bare one.
"""

import argparse
import gc
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from multiprocessing.connection import Connection
from operator import truediv
from pathlib import Path

import aiohttp
import anyio
import orjson
from aiohttp import web

sys.path.insert(0, str(Path(__file__).parents[1]))

from orchestrator import ReActAgent, connect
from registry import HttpDoor
from registry.calls import Call
from registry.messages import Json, Piece, Reply, Request
from registry.models.model import Model
from registry.testing import asks, says
from registry.tools.function import tool

LAPS = (1, 3, 20)
MOST_TIMES = 4.0
PEERS = ("agent_framework", "agno", "langgraph", "openai_agents", "pydantic_ai", "llamaindex", "crewai")
PEER_LAPS, PEER_AGENTS, PEER_SECONDS = 3, 50, 120
SYSTEM = "You are a careful research assistant. Use the tools when needed, then answer in a few sentences."
ANSWER = "Both items are there, and each of them was found where it was looked for, by the tool that looks items up."
HEADERS = {"content-type": "application/json", "authorization": "Bearer sk-none"}

Once = Callable[[str], Awaitable[str]]
"""One agent's run: from the question to the answer."""


@tool(effect="pure")
async def lookup(q: str) -> str:
    """Look an item up."""
    return f"found {q}: it is number {next(_numbers)}"


_numbers = count(1)
"""No two questions and no two results are the same, so that nothing is cached which would not be in earnest."""


def question(laps: int) -> str:
    return f"[[k={laps};l=0]] Look up what is on order {next(_numbers)}, and say what you found."


def ours(model: Model) -> Once:
    agent = ReActAgent(model, [lookup], system=SYSTEM)

    async def once(asked: str) -> str:
        result = await agent.run(asked)
        assert result.outcome == "completed", result.error
        return result.answer

    return once


def bare(session: aiohttp.ClientSession, url: str) -> Once:
    """The smallest loop that gets to the same answer."""
    function = {"name": lookup.spec.name, "description": lookup.spec.description, "parameters": lookup.spec.parameters}
    tools = [{"type": "function", "function": function}]

    async def chat(messages: list[Json]) -> Json:
        body = orjson.dumps({"model": "mock", "tools": tools, "messages": messages})
        async with session.post(f"{url}/chat/completions", data=body, headers=HEADERS) as answer:
            return orjson.loads(await answer.read())["choices"][0]["message"]

    async def once(asked: str) -> str:
        messages: list[Json] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": asked}]
        while calls := (said := await chat(messages)).get("tool_calls"):
            messages.append({"role": "assistant", "content": said["content"], "tool_calls": calls})
            for call in calls:
                found = await lookup(**orjson.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": found})
        return said["content"]

    return once


class InProcess:
    """A model that answers at once: what is left is the engine."""

    name, endpoint, context_window = "in process", "", 128_000

    def __init__(self, laps: int) -> None:
        self._laps = laps
        self.abilities: Mapping[str, bool] = {"tool_call": True, "json_mode": True}

    async def chat(self, request: Request, call: Call) -> Reply:  # noqa: ARG002
        return asks("lookup", q=f"item {next(_numbers)}") if call.iteration <= self._laps else says(ANSWER)

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        yield await self.chat(request, call)


async def cpu(once: Once, laps: int, calls: int) -> float:
    """Microseconds of CPU for each model call, in about so many of them."""
    agents = -(-calls // (laps + 1))
    gc.collect()
    began = time.process_time()
    for _ in range(agents):
        await once(question(laps))
    return (time.process_time() - began) * 1e6 / (agents * (laps + 1))


async def measured(url: str, calls: int, rounds: int) -> dict[tuple[int, str], list[float]]:
    """What a call costs in each round, by k and by whose it is."""
    taken: dict[tuple[int, str], list[float]] = {}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session, HttpDoor() as door:
        floor = bare(session, url)
        mine = ours(connect("openai:mock", base_url=url, context_window=128_000, door=door))
        for laps in LAPS:
            assert await mine(question(laps)) == await floor(question(laps))
        for _ in range(rounds):
            for laps in LAPS:
                for whose, once in {"ours": mine, "bare": floor, "engine": ours(InProcess(laps))}.items():
                    taken.setdefault((laps, whose), []).append(await cpu(once, laps, calls))
    return taken


def peer(name: str, url: str) -> float | None:
    """Microseconds of CPU for a call of another framework's agents, in a chain. None where it isn't installed, or fails."""
    python = Path(os.environ.get("BENCH_WORK", "")) / "venvs" / name / "bin" / "python"
    runner = Path(os.environ.get("BENCH", "")) / f"peer_{name}.py"
    if not (python.exists() and runner.exists()):
        return None
    shape = ["--shape", "chain", "--n", str(PEER_AGENTS), "--mode", "agent", "--k", str(PEER_LAPS), "--url", url]
    ran = subprocess.run([python, runner, *shape], capture_output=True, text=True, timeout=PEER_SECONDS, check=False)
    told = [line for line in ran.stdout.splitlines() if line.startswith("{")]
    return json.loads(told[-1])["cpu_us_per_call"] if told else None


async def _stand_in(told: Connection) -> None:
    async def chat(request: web.Request) -> web.Response:
        messages = (await request.json())["messages"]
        asked = next(message["content"] for message in messages if message["role"] == "user")
        lap = sum(message["role"] == "tool" for message in messages)
        if lap < int(asked.partition("k=")[2].partition(";")[0]):
            called = {"name": "lookup", "arguments": json.dumps({"q": f"item {lap}"})}
            call = {"id": f"call_{lap}", "type": "function", "function": called}
            message, finish = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
        else:
            message, finish = {"role": "assistant", "content": ANSWER}, "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish}
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        return web.json_response({"model": "mock", "choices": [choice], "usage": usage})

    app = web.Application()
    app.add_routes([web.post("/v1/chat/completions", chat)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    told.send(f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
    await anyio.sleep_forever()


def _serve(told: Connection) -> None:
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(range(os.cpu_count() or 1)) - mine or mine)  # off the core that the client is pinned to
    anyio.run(_stand_in, told)


@contextmanager
def stand_in() -> Iterator[str]:
    """The base URL of a server whose CPU is not ours."""
    spawn = multiprocessing.get_context("spawn")
    heard, told = spawn.Pipe(duplex=False)
    server = spawn.Process(target=_serve, args=(told,), daemon=True)
    server.start()
    try:
        yield heard.recv()
    finally:
        server.terminate()
        server.join()


def report(url: str, calls: int, rounds: int) -> int:
    taken = anyio.run(measured, url, calls, rounds)
    medians = {key: statistics.median(spent) for key, spent in taken.items()}
    # Of the two in one round, for whatever else the machine does then slows both.
    times = {laps: statistics.median(map(truediv, taken[laps, "ours"], taken[laps, "bare"])) for laps in LAPS}
    for laps in LAPS:
        mine, alone, floor = (f"{whose} {medians[laps, whose]:7.1f} us" for whose in ("ours", "engine", "bare"))
        print(f"k = {laps:2}   {mine}   {alone}   {floor}   {times[laps]:5.2f} x")
    peers = {name: peer(name, url) for name in PEERS}
    for name, spent in peers.items():
        if spent is not None:
            print(f"k = {PEER_LAPS:2}   {name} {spent:,.0f} us   {spent / medians[PEER_LAPS, 'ours']:.1f} times as much as ours")
    print(f"not measured: {', '.join(name for name, spent in peers.items() if spent is None) or 'none'}")
    return int(max(times.values()) > MOST_TIMES)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--url")
    parser.add_argument("--calls", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    if args.url:
        sys.exit(report(args.url.rstrip("/"), args.calls, args.rounds))
    with stand_in() as own:
        sys.exit(report(own, args.calls, args.rounds))
