"""A plan of your own, in a file: checked, forecast, drawn and run. Runs offline: its model follows a script.

    python examples/05_submit_a_plan.py

On the command line it is `dagwright check plan.yaml`, `forecast`, `draw` and `run plan.yaml --input city=Lyon`.
"""

import anyio

from orchestrator import Orchestrator
from planner import Known, Plan, check
from planner.drawing import draw
from planner.files import written_plan
from planner.forecast import forecast
from registry import Request, tool
from registry.testing import ScriptedModel

TEXT = """\
goal: Tell people about a city
inputs:
  city: {description: its name, default: Nice}
steps:
  - id: people
    kind: tool
    tool: population
    args: {city: "${inputs.city}"}
  - id: weather
    task: Say what the weather is like in ${inputs.city}
    tools: []
    estimate: {seconds: {low: 2, likely: 5, high: 20}}
  - id: sentence
    task: "Say it in a sentence: ${steps.people.output} people; ${steps.weather.output}"
    tools: []
output: ${steps.sentence.output}
"""


@tool(effect="pure")
def population(city: str) -> int:
    """How many people live in a city."""
    return {"Lyon": 522_250, "Nice": 348_085}[city]


def script(request: Request) -> str:
    """What a model would say: first about the weather, and then the sentence."""
    asked = request.messages[-1].text
    return "it is sunny" if asked.startswith("Say what") else "Lyon has 522,250 people, and it is sunny."


async def main() -> None:
    known = Known.of([population], models={})
    mistyped = TEXT.replace("tool: population", "tool: populaton").replace("steps.weather", "steps.whether")
    for text in (mistyped, TEXT):
        written = written_plan(text, name="plan.yaml")
        findings = written.located(check(written.draft, known))
        print(*(findings or ["nothing wrong"]), sep="\n")

    plan = Plan.of(written.draft)
    ahead = forecast(plan, lambda hint: None)  # what a model charges, where you know it: here nobody does
    print(draw(plan, "tree", ahead.path), end="")
    print(f"{ahead.total.calls.likely:.0f} model calls, most probably, and {ahead.total.seconds.likely:.0f} s")

    answer = await Orchestrator(ScriptedModel(script), tools=[population]).run(plan, inputs={"city": "Lyon"})
    print(f"{answer.output} ({answer.usage.requests} model calls)")


anyio.run(main)
