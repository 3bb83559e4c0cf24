"""Steps that promise data, and a step for every item of a list. Runs offline: its model follows a script.

    python examples/06_typed_steps_and_map.py

The first step ends with a list, so the map can go over it. Each item's step ends with an object, so a condition can look into it,
and the last step gets all of them as data, in the order of the list.
"""

import json

import anyio

from orchestrator import Orchestrator
from planner import Plan, read_plan
from registry import Request
from registry.testing import ScriptedModel

PLAN = Plan.of(
    read_plan(
        """
        goal: Where can a ship of 200 m berth?
        steps:
          - id: harbours
            task: Name the harbours as a JSON list
            output_schema: {type: array, items: {type: string}}
          - id: berths
            kind: map
            over: ${steps.harbours.data}
            width: 2
            step:
              task: How long is the longest berth of ${item}?
              output_schema: {type: object, properties: {harbour: {type: string}, metres: {type: integer}}, required: [metres]}
          - id: advice
            task: "Say where it can go: ${steps.berths.data}"
            when: ${steps.berths.data[0].metres} >= 200 or ${steps.berths.data[1].metres} >= 200
          - id: regret
            task: Say that it can go nowhere
            when: not (${steps.berths.data[0].metres} >= 200 or ${steps.berths.data[1].metres} >= 200)
        output: ${steps.advice.output}
        """,
        name="harbours.yaml",
    )
)

METRES = {"Oslo": 180, "Genoa": 320}


def script(request: Request) -> str:
    """What a model would say."""
    task = request.messages[1].text
    if task.startswith("Name"):
        return json.dumps(list(METRES))
    if task.startswith("How long"):
        harbour = next(name for name in METRES if name in task)
        return json.dumps({"harbour": harbour, "metres": METRES[harbour]})
    return "It can go to Genoa."


async def main() -> None:
    async with Orchestrator(ScriptedModel(script)).open(PLAN) as run:
        async for recorded in run.events:
            if recorded.event.kind == "step_ended":
                result = recorded.event.result
                print(f"{result.step:10}", result.kind, getattr(result, "data", None) or getattr(result, "output", ""))
        answer = await run.answer()
    print(answer.outcome, answer.output)


anyio.run(main)
