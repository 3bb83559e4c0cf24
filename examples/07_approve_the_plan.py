"""Nothing is done before you have seen the plan: refuse it, or let it be done with one more question in it. Runs offline.

    python examples/07_approve_the_plan.py

On the command line it is `dagwright run "goal" --confirm`.
"""

import anyio

from orchestrator import Hook, MemoryJournal, Orchestrator
from orchestrator.answering import decide
from orchestrator.errors import DeniedByHook
from planner import ApprovalStep, Plan
from planner.drawing import draw
from registry import Request, tool
from registry.testing import ScriptedModel, asks


@tool
def post(letter: str) -> str:
    """Post a letter."""
    print("  posted:", letter)
    return "it is on its way"


class Cautious(Hook):
    """Shows every plan that a run is about to begin with. What it returns is done instead."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    async def on_plan(self, plan: Plan) -> Plan:
        print(draw(plan, "tree", ()), end="")
        print("  the user:", self.answer)
        if self.answer == "no":
            raise DeniedByHook("the plan", "the user said no")
        ask = ApprovalStep(id="ask", question="Post this? ${steps.write.output}")
        steps = [step.model_copy(update={"depends_on": ("write", "ask")}) if step.id == "send" else step for step in plan.steps]
        return plan.model_copy(update={"steps": (*steps, ask)})


def script(request: Request) -> object:
    """What a model would say: a plan of two steps, the letter, the call that posts it, a verdict, and the answer."""
    said = request.messages[-1].text
    match [spec.name for spec in request.tools]:
        case ["plan"]:
            write = {"id": "write", "task": "Write to Ada", "depends_on": []}
            return asks("plan", steps=[write, {"id": "send", "task": "Post it", "depends_on": ["write"], "tool_hint": "post"}])
        case ["verdict"]:
            return asks("verdict", achieved=True, confidence=1.0, reasoning="posted", missing=[], final_answer="")
        case ["post"] if said.startswith("Write"):
            return "Dear Ada, do come."
        case ["post"] if request.messages[-1].role != "tool":
            return asks("post", letter="Dear Ada, do come.")
        case _:
            return "Ada was invited."


def orchestrator(answer: str, journal: MemoryJournal) -> Orchestrator:
    return Orchestrator(ScriptedModel(script), tools=[post], hooks=[Cautious(answer)], journal=journal)


async def main() -> None:
    journal = MemoryJournal()
    try:
        await orchestrator("no", journal).run("Invite Ada")
    except DeniedByHook as refused:
        print("nothing was done:", refused)

    cautious = orchestrator("ask me before it is posted", journal)
    answer = await cautious.run("Invite Ada")
    for waiting in answer.waiting:
        print("  waits:", waiting.what)
        await decide(journal, answer.run_id, waiting.id, "approve", by="the user")
    answer = await cautious.resume(answer.run_id)
    print(answer.outcome, answer.output, sep=": ")


anyio.run(main)
