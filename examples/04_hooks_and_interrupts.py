"""Have a say while a run goes on: a policy that rewrites and refuses, a watcher, live text, a message in between. Runs offline.

python examples/04_hooks_and_interrupts.py
"""

import json

import anyio
from msgspec.structs import replace

from orchestrator import Hook, Observer, Orchestrator
from planner import Plan, Step
from registry import Call, Observation, Request, ToolCall, ToolDenied, tool
from registry.messages import Piece, TextPiece
from registry.testing import ScriptedModel, asks, asks_many


@tool
async def send(to: str, text: str) -> str:
    """Send a message."""
    await anyio.sleep(0.3)  # sending takes a while, and the user has time to say something
    return f"sent to {to}"


class StayAtHome(Hook):
    """A policy. What a hook returns takes the place of what it was given; to refuse, it raises. If it fails, it has refused."""

    async def before_tool(self, wanted: ToolCall, call: Call) -> ToolCall:
        args = json.loads(wanted.arguments)
        if not args["to"].lower().endswith("@home.example"):
            raise ToolDenied(wanted.name, "only to home.example")  # which the model reads
        return replace(wanted, arguments=json.dumps(args | {"to": args["to"].lower()}))


class Diary(Observer):
    """A watcher. It changes nothing, and if it fails, that is reported and the run goes on."""

    async def after_tool(self, observation: Observation, call: Call) -> Observation:
        print(f"{call.label}, iteration {call.iteration}: {observation.text}")
        return observation


class Live(Hook):
    """Whoever wants to see replies arrive says so for each iteration, and gets them piece by piece."""

    async def should_stream(self, iteration: int) -> bool:
        return True

    async def on_stream(self, piece: Piece, call: Call) -> None:
        if isinstance(piece, TextPiece):
            print(piece.text, end="|")


def script(request: Request) -> object:
    """What a model would say: two messages at once, one more because the user says so, and the end."""
    said = [message.text for message in request.messages]
    if not any("[USER INTERRUPT]" in text for text in said):
        return asks_many(
            ("send", {"to": "Ada@Home.example", "text": "We move!"}),
            ("send", {"to": "press@paper.example", "text": "They move!"}),
        )
    if said[-1].endswith("Bob too"):
        return asks("send", to="bob@home.example", text="We move!")
    return "Ada and Bob know. The press may not be told."


async def main() -> None:
    plan = Plan(goal="Announce it", steps=[Step(id="tell", task="Tell Ada and the press")], output="${steps.tell.output}")
    orchestrator = Orchestrator(ScriptedModel(script), tools=[send], hooks=[StayAtHome(), Diary(), Live()])
    async with orchestrator.open(plan) as run:
        async for recorded in run.events:
            # The first message is being sent. What the user says now is read before the next reply.
            if recorded.event.kind == "tool_started" and recorded.event.iteration == 1:
                await run.interrupt("Tell Bob too")
            if recorded.event.kind == "interrupt_received":
                print("the user:", recorded.event.text)
        answer = await run.answer()
    print()
    print(answer.outcome, answer.output, sep=": ")


anyio.run(main)
