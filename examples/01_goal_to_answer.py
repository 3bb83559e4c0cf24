"""A goal in, an answer out, and everything in between to watch. Runs offline: its model follows a script.

    python examples/01_goal_to_answer.py

With a real model, `Orchestrator(connect("openai:gpt-4.1"), tools=[population])` does the same, with
`connect` from `orchestrator`.
"""

import anyio

from orchestrator import Orchestrator
from registry import Request, tool
from registry.testing import ScriptedModel, asks


@tool(effect="pure")
def population(city: str) -> int:
    """How many people live in a city."""
    return {"Lyon": 522_250, "Nice": 348_085}[city]


def script(request: Request) -> object:
    """What a model would say: a plan, a tool call in each of two steps, a verdict, and the answer."""
    said = request.messages[-1].text
    match [spec.name for spec in request.tools]:
        case ["plan"]:
            tasks = {city: f"Find the population of {city}" for city in ("Lyon", "Nice")}
            return asks("plan", steps=[{"id": city, "task": task, "depends_on": []} for city, task in tasks.items()])
        case ["verdict"]:
            return asks("verdict", achieved=True, confidence=1.0, reasoning="both known", missing=[], final_answer="Lyon")
        case ["population"] if request.messages[-1].role == "tool":
            return f"{int(said):,} people."
        case ["population"]:
            return asks("population", city=said.removeprefix("Find the population of "))
        case _:
            return "Lyon is larger than Nice by 174,165 people."


async def main() -> None:
    orchestrator = Orchestrator(ScriptedModel(script), tools=[population])
    async with orchestrator.open("Which is larger, Lyon or Nice, and by how much?") as run:
        async for recorded in run.events:
            match recorded.event.kind:
                case "step_started":
                    print("started ", recorded.event.step)
                case "tool_started":
                    print("  used  ", recorded.event.tool, recorded.event.arguments)
                case "step_ended":
                    print("ended   ", recorded.event.result.step, "->", recorded.event.result.output)
        answer = await run.answer()
    print(answer.output)
    print(f"{answer.outcome}; {answer.usage.requests} model calls, {answer.usage.tokens} tokens")


anyio.run(main)
