"""A hundred agents against an endpoint that takes twenty requests a second, and against one that dies for three seconds.

    python benchmarks/governor.py [--agents 100] [--laps 6]

The server is a stand-in of our own on a loopback socket, which refuses with 429 whatever is more than its rate in any second. It
tells its limits in headers, or only refuses, or its rate is set. All requests go through all layers of a connected model; the
figures are what the server saw. Exits with 1 when after the first second more than one request in a hundred is refused, less
than nine tenths of the rate are used, or one leaves before a more urgent one that waited; and when the outage makes a request
fail, or what comes after it is faster than 1.2 times the rate in any second.
"""

import argparse
import sys
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from aiohttp import web
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from orchestrator import connect
from registry import HttpDoor, Request
from registry.calls import Call
from registry.errors import ModelError
from registry.messages import UserMessage

RATE = 20
LATENCY = 0.2
DIES, OUTAGE = 8.0, 3.0
MOST_REFUSED, LEAST_USED, HIGHEST_PEAK = 0.01, 0.9, 1.2
SLACK = 0.25
"""Seconds by which a more urgent request must have waited for another to have overtaken it."""


@dataclass(kw_only=True)
class Server:
    """What a stand-in does, and what it saw: when each request was taken, by the text that it asked, and refused."""

    tells: bool = False
    taken: dict[str, float] = field(default_factory=dict)
    refused: list[float] = field(default_factory=list)
    recent: deque[float] = field(default_factory=deque)

    async def chat(self, request: web.Request) -> web.Response:
        now = anyio.current_time()
        asked = (await request.json())["messages"][-1]["content"]
        while self.recent and self.recent[0] <= now - 1:
            self.recent.popleft()
        full = len(self.recent) >= RATE
        if not full:
            self.recent.append(now)
        left = RATE - len(self.recent)
        headers = {
            "x-ratelimit-limit-requests": str(RATE),
            "x-ratelimit-remaining-requests": str(left),
            "x-ratelimit-reset-requests": f"{round(1000 * (RATE - left) / RATE)}ms",
        }
        if full:
            self.refused.append(now)
            return web.json_response({}, status=429, headers={"retry-after": "1", **(headers if self.tells else {})})
        self.taken[asked] = now
        await anyio.sleep(LATENCY)
        choice = {"index": 0, "message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 1}
        return web.json_response({"choices": [choice], "usage": usage}, headers=headers if self.tells else {})


@asynccontextmanager
async def listening(server: Server, port: int = 0) -> AsyncIterator[int]:
    """The port that the server listens on. Afterwards its connections are gone too."""
    app = web.Application()
    app.add_routes([web.post("/v1/chat/completions", server.chat)])
    runner = web.AppRunner(app, shutdown_timeout=0.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port, reuse_address=True).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One scenario, by the moments since it began. `asked` is when each request was, by its text, and with which rank."""

    name: str
    asked: dict[str, tuple[float, float]]
    taken: dict[str, float]
    refused: list[float]
    failed: list[ModelError]
    outage: tuple[float, float] | None

    @property
    def sent(self) -> list[float]:
        """When requests were taken after the first second."""
        return [moment for moment in self.taken.values() if moment > 1]

    @property
    def late(self) -> float:
        """The part of all requests after the first second that was refused."""
        late = sum(moment > 1 for moment in self.refused)
        return late / (late + len(self.sent))

    @property
    def rate(self) -> float:
        """Requests a second while all agents were at work."""
        return len(self.sent) / (max(self.sent) - 1)

    @property
    def overtaken(self) -> int:
        """Requests that left before a more urgent one which had waited for some time, and went on to wait."""
        waits = [(asked, self.taken[text], rank) for text, (asked, rank) in self.asked.items() if text in self.taken]
        return sum(
            any(rank > mine and asked < went - SLACK and taken > went + SLACK for asked, taken, rank in waits)
            for _, went, mine in waits
            if went > 2  # by then those that were refused at first are back
        )

    @property
    def peak(self) -> int:
        """The most requests in any second after the outage."""
        after = sorted(moment for moment in self.taken.values() if self.outage and moment >= self.outage[1])
        return max((sum(start <= moment < start + 1 for moment in after) for start in after), default=0)

    @property
    def faults(self) -> tuple[str, ...]:
        """What should be otherwise."""
        held = {
            "requests failed": not self.failed,
            "some were never asked": len(self.asked) == len(self.taken),
            "too many were refused": self.late <= MOST_REFUSED,
            "the rate is not used": bool(self.outage) or self.rate >= LEAST_USED * RATE,
            "not in rank order": bool(self.outage) or not self.overtaken,
            "a herd came after the outage": self.peak <= HIGHEST_PEAK * RATE,
        }
        return tuple(fault for fault, holds in held.items() if not holds)


async def seen(name: str, agents: int, laps: int, *, tells: bool = False, rate: int | None = None, dies: bool = False) -> Seen:
    """Have so many agents ask so many times each, one after another, the last one most urgently."""
    server, asked, failed = Server(tells=tells), dict[str, tuple[float, float]](), list[ModelError]()
    began = anyio.current_time()

    async def agent(place: int, url: str, door: HttpDoor) -> None:
        model = connect(f"openai:{name}", base_url=url, door=door, max_concurrency=agents, requests_per_minute=rate)
        for lap in range(laps):
            text = f"agent {place}, lap {lap}"
            asked[text] = anyio.current_time() - began, float(place)
            try:
                await model.chat(Request(messages=(UserMessage(text=text),)), Call(rank=float(place)))
            except ModelError as error:
                failed.append(error)

    async def live(port: int) -> tuple[float, float]:
        await anyio.sleep(OUTAGE)
        back = anyio.current_time() - began
        async with listening(server, port):
            await done.wait()
        return back - OUTAGE, back

    done, outage = anyio.Event(), None
    async with HttpDoor() as door, anyio.create_task_group() as work:
        async with listening(server) as port:
            url = f"http://127.0.0.1:{port}/v1"

            async def all_agents() -> None:
                async with anyio.create_task_group() as group:
                    for place in range(agents):
                        group.start_soon(agent, place, url, door)
                done.set()

            work.start_soon(all_agents)
            if dies:
                await anyio.sleep(DIES)
            else:
                await done.wait()
        if dies:
            outage = await live(port)
    return Seen(
        name=name,
        asked=asked,
        taken={text: moment - began for text, moment in server.taken.items()},
        refused=[moment - began for moment in server.refused],
        failed=failed,
        outage=outage,
    )


def table(rows: Sequence[Seen]) -> Table:
    shown = Table("limit", "requests", "refused in all", "after 1 s", "rate", "overtaken", "peak after outage", "verdict")
    for row in rows:
        shown.add_row(
            row.name,
            str(len(row.taken)),
            str(len(row.refused)),
            f"{row.late:.2%}",
            f"{row.rate:.1f} of {RATE}",
            str(row.overtaken),
            str(row.peak) if row.outage else "-",
            "; ".join(row.faults) or "as it should",
        )
    return shown


async def main(agents: int, laps: int) -> int:
    rows: list[Seen] = []

    async def see(name: str, tells: bool, rate: int | None, dies: bool) -> None:
        rows.append(await seen(name, agents, laps, tells=tells, rate=rate, dies=dies))

    async with anyio.create_task_group() as group:
        group.start_soon(see, "told in headers", True, None, False)
        group.start_soon(see, "found out", False, None, False)
        group.start_soon(see, "set", False, 60 * RATE, False)
        group.start_soon(see, "told, and it dies", True, None, True)
        group.start_soon(see, "found out, and it dies", False, None, True)
    Console(width=160).print(table(rows))
    return 1 if any(row.faults for row in rows) else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--agents", type=int, default=100)
    parser.add_argument("--laps", type=int, default=6)
    args = parser.parse_args()
    sys.exit(anyio.run(main, args.agents, args.laps))
