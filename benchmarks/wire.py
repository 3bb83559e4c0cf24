"""What a model call costs in CPU, beside the least that it could: bare aiohttp and orjson in the same process.

    python benchmarks/wire.py --url http://127.0.0.1:8901/v1 [--calls 2000] [--rounds 7]

The server is a mock that answers at once and knows `[[k=0;l=0;c=1000]]` in a prompt: no calls, no latency, so many chunks.
Each figure is the median of interleaved rounds. The bare client reads the same fields out of the same bytes and checks nothing.
Exits with 1 when a chunk costs more than twice as much as there, or a chat more than four times.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import anyio
import orjson

sys.path.insert(0, str(Path(__file__).parents[1]))

from registry.calls import NO_CALL
from registry.http import HttpDoor
from registry.messages import Reply, Request, SystemMessage, TextPiece, UserMessage
from registry.openai import OpenAIModel

WIDTHS = (1, 50, 500)
CHUNKS = 1_000
MOST_TIMES = {"chat": 4.0, "chunk": 2.0}
HEADERS = {"content-type": "application/json", "authorization": "Bearer sk-none"}

Once = Callable[[str], Awaitable[str]]


def bare(session: aiohttp.ClientSession, url: str) -> tuple[Once, Once]:
    """A chat and a stream with nothing around them."""

    def body(prompt: str, **more: object) -> bytes:
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": prompt}]
        return orjson.dumps({"model": "mock", **more, "messages": messages})

    async def chat(prompt: str) -> str:
        async with session.post(f"{url}/chat/completions", data=body(prompt), headers=HEADERS) as answer:
            return orjson.loads(await answer.read())["choices"][0]["message"]["content"]

    async def stream(prompt: str) -> str:
        text, rest = [], b""
        sent = body(prompt, stream=True, stream_options={"include_usage": True})
        async with session.post(f"{url}/chat/completions", data=sent, headers=HEADERS) as answer:
            async for piece in answer.content.iter_any():
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    if line.startswith(b"data: {"):
                        choices = orjson.loads(line[6:])["choices"]
                        text.append(choices[0]["delta"].get("content") or "" if choices else "")
        return "".join(text)

    return chat, stream


def ours(model: OpenAIModel) -> tuple[Once, Once]:
    def request(prompt: str) -> Request:
        return Request(messages=(SystemMessage(text="Be brief."), UserMessage(text=prompt)))

    async def chat(prompt: str) -> str:
        return (await model.chat(request(prompt), NO_CALL)).text

    async def stream(prompt: str) -> str:
        text, reply = [], None
        async for piece in model.stream_chat(request(prompt), NO_CALL):
            match piece:
                case TextPiece(said):
                    text.append(said)
                case Reply():
                    reply = piece
        assert reply is not None
        assert reply.text == "".join(text)
        return reply.text

    return chat, stream


async def cpu(once: Once, prompt: str, *, calls: int, width: int) -> float:
    """Seconds of CPU for each call, so many at a time."""
    left = iter(range(calls))

    async def work() -> None:
        for _ in left:
            await once(prompt)

    began = time.process_time()
    async with anyio.create_task_group() as group:
        for _ in range(width):
            group.start_soon(work)
    return (time.process_time() - began) / calls


async def main(url: str, calls: int, rounds: int) -> int:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session, HttpDoor() as door:
        model = OpenAIModel("mock", model="mock", base_url=url, api_key=None, door=door, headers=HEADERS)
        clients = {"ours": ours(model), "bare": bare(session, url)}
        short, long = "Hello [[k=0;l=0;c=20]]", f"Hello [[k=0;l=0;c={CHUNKS}]]"
        assert await clients["ours"][1](long) == await clients["bare"][1](long)
        taken: dict[tuple[str, str], list[float]] = {}
        for _ in range(rounds + 1):
            for width in WIDTHS:
                for name, (chat, _) in clients.items():
                    spent = await cpu(chat, short, calls=max(calls, width), width=width)
                    taken.setdefault((f"chat, {width} at a time", name), []).append(spent * 1e6)
            for name, (_, stream) in clients.items():
                spent = await cpu(stream, long, calls=10, width=1)
                taken.setdefault((f"chunk of {CHUNKS:,}", name), []).append(spent / CHUNKS * 1e6)
    medians = {key: statistics.median(spent[1:]) for key, spent in taken.items()}  # the first round opens connections
    dear = 0
    for what in dict.fromkeys(what for what, _ in medians):
        mine, floor = medians[what, "ours"], medians[what, "bare"]
        print(f"{what:24} {mine:8.1f} us  bare {floor:8.1f} us  {mine / floor:5.2f} x")
        dear += any(what.startswith(kind) and mine > most * floor for kind, most in MOST_TIMES.items())
    return 1 if dear else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--calls", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    sys.exit(anyio.run(main, args.url.rstrip("/"), args.calls, args.rounds))
