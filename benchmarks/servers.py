"""One script against several servers: an agent with a tool, a structured call, and a stream, through our own clients.

    python benchmarks/servers.py [--url URL[=MODEL] ...]

Each URL is an endpoint that speaks the chat-completions protocol, up to its /v1; without any, a stand-in of our own that calls
tools as it is told. The embedded model is asked where it is installed. What a server must do follows from what its model is
taken to be able to: the dialect of the agent, and the rung of the structured call. Exits with 1 when one does not do so.
"""

import argparse
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from aiohttp import web
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from orchestrator import AgentResult, ReActAgent, connect
from registry import HttpDoor, Model, Reply, Request, StructuredCallResult, structured_llm_call, tool
from registry.calls import NO_CALL
from registry.errors import DagwrightError
from registry.local.serve import WINDOW, local_server
from registry.local.weights import LocalModelMissing
from registry.messages import AssistantMessage, TextPiece, UserMessage
from registry.openai import served_models

QUESTION = "How many lamps are in stock?"
IN_STOCK = 37
ORDER = {
    "type": "object",
    "properties": {
        "colour": {"type": "string", "enum": ["red", "green", "blue"]},
        "amount": {"type": "integer", "minimum": 1, "maximum": 9},
    },
    "required": ["colour", "amount"],
    "additionalProperties": False,
}
LAPS = 4
REPLY_TOKENS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one server did. `wise` is whether its model is to come to the right answer, rather than only call its tool."""

    server: str
    model: Model
    wise: bool
    asked: tuple[str, ...]
    agent: AgentResult
    order: StructuredCallResult[Any]
    pieces: tuple[str, ...]
    reply: Reply

    @property
    def dialect(self) -> str:
        """The one that the tool was called in."""
        native = any(isinstance(message, AssistantMessage) and message.calls for message in self.agent.transcript)
        return "native" if native else "json" if self.asked else "none"

    @property
    def right(self) -> bool:
        return str(IN_STOCK) in self.agent.answer

    @property
    def metered(self) -> bool:
        return all(usage.exact and usage.output_tokens > 0 for usage in (self.agent.usage, self.order.usage, self.reply.usage))

    @property
    def faults(self) -> tuple[str, ...]:
        """What should be otherwise, none for a server that does as it should."""
        native = self.model.abilities.get("tool_call", False)
        dialect, rung = ("native", "native") if native else ("json", "json")
        held = {
            "the tool was never called": bool(self.asked),
            f"the agent's dialect should be {dialect}": self.dialect == dialect,
            "the agent did not come to the right answer": not self.wise or (self.right and self.agent.outcome == "completed"),
            f"the structured call should end on the {rung} rung": self.order.rung == rung,
            "the stream came in fewer than two pieces": len(self.pieces) > 1,
            "the pieces of the stream are not its reply": "".join(self.pieces) == self.reply.text,
            "usage is missing": self.metered,
        }
        return tuple(fault for fault, holds in held.items() if not holds)


async def seen(server: str, model: Model, *, wise: bool = True, laps: int = LAPS) -> Seen:
    """Ask the model everything. The agent must conclude within so many laps. Raises a `DagwrightError` of an outage."""
    asked: list[str] = []

    @tool(effect="pure")
    async def stock(item: str) -> str:
        """How many of an item are in stock."""
        asked.append(item)
        return f"{item}: {IN_STOCK}"

    agent = await ReActAgent(model, [stock], max_iterations=laps, reply_tokens=REPLY_TOKENS).run(QUESTION)
    if agent.error is not None and agent.outcome == "failed":
        raise agent.error
    question = UserMessage(text="Order something: choose a colour and an amount.")
    order = await structured_llm_call(
        model, [question], ORDER, NO_CALL, name="order", default_value=None, max_tokens=REPLY_TOKENS
    )
    pieces, reply = [], None
    counting = Request(messages=(UserMessage(text="Count from one to five, in words."),), max_tokens=REPLY_TOKENS)
    async with aclosing(model.stream_chat(counting, NO_CALL)) as stream:
        async for piece in stream:
            match piece:
                case TextPiece(text):
                    pieces.append(text)
                case Reply():
                    reply = piece
    assert reply is not None
    return Seen(
        server=server,
        model=model,
        wise=wise,
        asked=tuple(asked),
        agent=agent,
        order=order,
        pieces=tuple(pieces),
        reply=reply,
    )


async def embedded(door: HttpDoor) -> Seen:
    """The embedded model: it has 135 million parameters, so whether its answer is right is told and not asked for."""
    async with local_server() as url:
        return await seen("embedded", connect("local", base_url=url, context_window=WINDOW, door=door), wise=False, laps=1)


async def served(url: str, door: HttpDoor) -> Seen:
    """The named model of an endpoint, or the first that it serves."""
    base_url, _, model = url.partition("=")
    model = model or (await served_models(door, base_url, None))[0]
    return await seen(base_url, connect(f"openai:{model}", base_url=base_url, door=door))


@asynccontextmanager
async def stand_in(*, honours_tools: bool = True) -> AsyncIterator[str]:
    """The base URL of a server whose model calls the first tool that it is offered, then tells what that said."""

    async def models(_: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "stand-in", "object": "model"}]})

    async def chat(request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        message = _message(asked if honours_tools else {**asked, "tools": []})
        if not asked.get("stream"):
            finish = "tool_calls" if message.get("tool_calls") else "stop"
            choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
            return web.json_response({"model": "stand-in", "choices": [choice], "usage": _USAGE})
        answer = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await answer.prepare(request)
        for word in str(message["content"]).split(" "):
            await _say(answer, choices=[{"index": 0, "delta": {"content": f"{word} "}, "finish_reason": None}])
        await _say(answer, choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
        await _say(answer, choices=[], usage=_USAGE)
        await answer.write(b"data: [DONE]\n\n")
        return answer

    app = web.Application()
    app.add_routes([web.get("/v1/models", models), web.post("/v1/chat/completions", chat)])
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


_USAGE = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}


def _message(asked: dict[str, Any]) -> dict[str, Any]:
    last, tools = asked["messages"][-1], asked.get("tools")
    if last["role"] == "tool":
        return {"content": f"There are so many: {last['content']}."}
    if tools:
        function = tools[0]["function"]
        arguments = json.dumps(_sample(function["parameters"]))
        called = {"name": function["name"], "arguments": arguments}
        return {"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": called}]}
    if asked.get("response_format"):
        return {"content": json.dumps(_sample(ORDER))}
    return {"content": "one two three four five"}


def _sample(schema: dict[str, Any]) -> Any:
    """A value of the schema: objects of texts and whole numbers are all that this script asks for."""
    if "properties" in schema:
        return {name: _sample(inner) for name, inner in schema["properties"].items()}
    return schema.get("enum", ["lamp" if schema["type"] == "string" else 3])[0]


async def _say(answer: web.StreamResponse, **chunk: object) -> None:
    await answer.write(b"data: " + json.dumps({"model": "stand-in", **chunk}).encode() + b"\n\n")


def table(rows: Sequence[Seen]) -> Table:
    shown = Table("server", "dialect", "tool calls", "answer", "rung", "attempts", "value", "pieces", "usage", "verdict")
    for row in rows:
        shown.add_row(
            row.server,
            row.dialect,
            ", ".join(row.asked) or "none",
            f"{'right' if row.right else 'wrong'}, {row.agent.outcome}",
            row.order.rung or "none",
            str(row.order.attempts),
            json.dumps(row.order.raw),
            f"{len(row.pieces)}, {len(row.reply.text)} letters",
            f"{row.agent.usage.tokens + row.order.usage.tokens + row.reply.usage.tokens} tokens" if row.metered else "missing",
            "; ".join(row.faults) or "as it should",
        )
    return shown


async def main(urls: Sequence[str]) -> int:
    rows, failed = [], False
    async with HttpDoor() as door, stand_in() as own:
        asked = {"embedded": partial(embedded, door), **{url: partial(served, url, door) for url in urls or [own]}}
        for server, ask in asked.items():
            try:
                rows.append(await ask())
            except LocalModelMissing as missing:
                print(f"{server} is not asked: {missing}", file=sys.stderr)
            except DagwrightError as error:
                failed = True
                print(f"{server} failed: {error}", file=sys.stderr)
    Console(width=180).print(table(rows))
    return 1 if failed or any(row.faults for row in rows) else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", action="append", default=[], metavar="URL[=MODEL]")
    sys.exit(anyio.run(main, parser.parse_args().url))
