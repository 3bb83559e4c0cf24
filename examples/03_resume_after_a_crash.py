"""A program dies in the midst of a run, is started again, and goes on. Runs offline: its model follows a script.

    python examples/03_resume_after_a_crash.py

The journal is a file. What is written in it is not done again: the model is not asked twice for the letter, which was paid for.
Only whether the letter was posted nobody knows, since the program died too soon to write that down. So the run asks.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from orchestrator import Orchestrator, SqliteJournal, decide
from planner import Plan, Step, ToolStep
from registry import Request, tool
from registry.testing import ScriptedModel

PLAN = Plan(
    goal="Invite Ada",
    steps=[
        Step(id="letter", task="Write an invitation to Ada", tools=[]),
        ToolStep(id="posted", tool="post", args={"letter": "${steps.letter.output}"}),
        Step(id="note", task="Note for the files: ${steps.posted.output}", tools=[]),
    ],
    output="${steps.note.output}",
)


def script(request: Request) -> str:
    """What a model would say."""
    task = request.messages[-1].text
    print("  asked: ", task, flush=True)
    return "Dear Ada, do come on Friday." if task.startswith("Write") else "Ada was invited on Monday."


async def program(folder: Path) -> None:
    """Begins a run, or goes on with the one that is there."""
    letterbox = folder / "letterbox"

    # "unkeyed" is the default: it must not happen twice, and no key or record tells whether it has happened.
    @tool(effect="unkeyed")
    def post(letter: str) -> str:
        """Post a letter."""
        letterbox.write_text(letter)
        print("  posted:", letter, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)  # the power fails
        return "the letter was posted"

    async with SqliteJournal.open(folder / "journal.db") as journal:
        orchestrator = Orchestrator(ScriptedModel(script), tools=[post], journal=journal)
        runs = await journal.runs()
        answer = await (orchestrator.resume(runs[0].run) if runs else orchestrator.run(PLAN))
        while answer.outcome == "suspended":
            for waiting in answer.waiting:
                print("  waits: ", waiting.what)
                # Here a person goes and looks. Had it not happened, they would say "retry".
                assert letterbox.exists()
                await decide(journal, answer.run_id, waiting.id, "happened", text="the letter was posted")
            answer = await orchestrator.resume(answer.run_id)
        print("  answer:", answer.output)


if len(sys.argv) > 1:
    anyio.run(program, Path(sys.argv[1]))
else:
    with TemporaryDirectory() as folder:
        for start in ("started", "started again"):
            print(start, flush=True)
            ended = subprocess.run([sys.executable, __file__, folder], check=False)  # noqa: S603 (it is this file)
            print("ended with", ended.returncode, flush=True)
