"""docs/serve.md: what it shows of events is what clients get, and what it says of paths and options is so."""

import re
from decimal import Decimal
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner

from orchestrator.cli.app import app
from orchestrator.events.facts import (
    Answered,
    AnswerWritten,
    CancelRequested,
    Fact,
    InterruptHeard,
    InterruptReceived,
    ModelFailed,
    ModelReplied,
    PhaseBegan,
    PlanReady,
    PlanRejected,
    RunEnded,
    RunInterrupted,
    RunStarted,
    RunSuspended,
    StepEnded,
    StepPaused,
    StepRetried,
    StepStarted,
    StopRequested,
    Summary,
    TailCut,
    ToolEnded,
    ToolStarted,
    VerdictReached,
)
from orchestrator.events.glimpses import (
    AnswerBegan,
    AnswerPiece,
    AnswerReset,
    Compacted,
    Concluding,
    Glimpse,
    StepAdmitted,
    StepQueued,
    ThinkingBegan,
)
from orchestrator.events.project import project
from orchestrator.events.recorded import Event, Recorded
from orchestrator.events.spending import BudgetDrawn, LandingBegan, ModelChosen
from orchestrator.server.app import create_app
from orchestrator.server.frames import KEEP_ALIVE, OPENING, frame
from orchestrator.waiting import Waiting
from planner import Diagnostic, Plan, Step
from planner.results import Failed, Skipped, Succeeded
from registry.messages import Reply, ToolCall
from registry.tools.tool import Observation
from registry.usage import Usage
from tests.orchestrator.server.driving import service_of

PAGE = (Path(__file__).parents[1] / "docs" / "serve.md").read_text(encoding="utf-8")

SPENT = Usage(requests=1, input_tokens=820, output_tokens=96, cost=Decimal("0.0011"), priced=1)
TOTAL = Usage(requests=5, input_tokens=4100, output_tokens=480, cost=Decimal("0.0055"), priced=5)
ASKED = Waiting(step="send", key="k", what="send('The harbours differ.')", kind="approval")
PLAN = Plan(goal="Compare the harbours", steps=(Step(id="north", task="Describe the harbour of Narvik"),))
SUMMARY = Summary(
    wall_seconds=6.5,
    step_seconds=9.0,
    usage=TOTAL,
    tool_calls=1,
    steps=2,
    succeeded=2,
    failed=0,
    skipped=0,
    reused=0,
    overlapped=("north", "south"),
    iterations=3,
)
MENDED = Diagnostic(code="P005", severity="repair", place="/steps/0/depends_on/0", message="'nroth' names no step", fix="removed")
REFUSED = Diagnostic(code="P001", severity="error", place="/steps", message="the plan has no steps")
CALL = ToolCall(id="call_1", name="search", arguments='{"q":"Narvik"}')
LAP = {"key": "k", "scope": "s", "step": "north", "iteration": 1}

EXAMPLES: tuple[tuple[int | None, Event], ...] = (
    (2, PhaseBegan(phase="planning")),
    (7, PhaseBegan(phase="selecting_tools", total_tools=40)),
    (3, PlanRejected(round=1, diagnostics=(REFUSED,))),
    (40, RunSuspended(waiting=(ASKED,), summary=SUMMARY)),
    (41, StopRequested(why="it takes too long")),
    (42, CancelRequested(why="enough")),
    (43, RunInterrupted(why="the process stopped working on it")),
    (39, LandingBegan(limit="cost", used=0.9)),
    (4, PlanReady(plan=PLAN, diagnostics=(MENDED,))),
    (6, StepStarted(step="north", step_kind="agent", scope="s", task="Describe the harbour of Narvik", model="big")),
    (12, StepPaused(waiting=ASKED)),
    (13, Answered(waiting=ASKED.id, key="k", decision="approve", by="Ada")),
    (14, StepRetried(scope="s", result=Failed(step="north", error="ToolFailed", message="search: no answer", seconds=1.5))),
    (15, StepEnded(scope="s", result=Succeeded(step="north", output="Ice-free.", model="big", usage=SPENT, seconds=2.5))),
    (16, StepEnded(scope="s", result=Failed(step="north", error="StepTimedOut", message="not done within 600 s", seconds=600.0))),
    (17, StepEnded(scope="s", result=Skipped(step="compare", because_of="north", reason="north failed"))),
    (None, StepQueued(step="north")),
    (None, StepAdmitted(step="north", waited=1.5)),
    (8, ModelReplied(**LAP, purpose="step", reply=Reply(text="I look it up.", calls=(CALL,), usage=SPENT), seconds=0.75)),
    (9, ModelFailed(**LAP, purpose="step", error="Unreachable", message="big can't be reached", usage=SPENT)),
    (None, ThinkingBegan(step="north", iteration=1)),
    (10, ToolStarted(**LAP, call_id="call_1", tool="search", arguments='{"q":"Narvik"}', effect="pure")),
    (11, ToolEnded(**LAP, observation=Observation(call_id="call_1", name="search", text="A port in Norway", seconds=0.25))),
    (None, Concluding(step="north", iteration=2)),
    (None, AnswerBegan()),
    (None, AnswerPiece(text="The harbours ", part=0, offset=0)),
    (None, AnswerReset(why="the stream goes on", part=0)),
    (20, AnswerWritten(text="The harbours differ.", by="big")),
    (None, Compacted(step="north", iteration=9, original_messages=40, kept_messages=12)),
    (18, InterruptReceived(text="Leave Genoa out")),
    (21, RunEnded(outcome="achieved", summary=SUMMARY, answer="The harbours differ.")),
)

SILENT = (RunStarted, InterruptHeard, VerdictReached, TailCut, BudgetDrawn, ModelChosen)
"""Facts that only the journal needs."""


def shown() -> list[str]:
    """Every message on the page."""
    blocks = re.findall(r"```sse\n(.*?)```", PAGE, flags=re.DOTALL)
    return [f"{message}\n\n" for block in blocks for message in block.rstrip("\n").split("\n\n")]


def told() -> list[str]:
    """Every message of the examples."""
    messages = (
        message
        for seq, event in EXAMPLES
        for message in project(Recorded(seq=seq, time=0.0, run="default.4f1c2a9be07d", event=event)).messages
    )
    return [frame(message).decode() for message in messages]


def test_every_event_has_an_example() -> None:
    """But for those that nobody is told."""
    kinds = {type(event) for _, event in EXAMPLES}

    assert {*get_args(Fact), *get_args(Glimpse)} - {*SILENT} == kinds
    assert [] == [kind for kind in SILENT if kind in kinds]


@pytest.mark.parametrize("place", range(len(told())))
def test_the_page_shows_what_clients_get(place: int) -> None:
    """To the letter, in this order."""
    assert told()[place] == shown()[place]


def test_the_page_shows_nothing_else() -> None:
    """Every message on it is one of the examples; and it shows how a stream begins and is kept open."""
    assert len(told()) == len(shown())
    assert OPENING.decode().rstrip() in PAGE
    assert KEEP_ALIVE.decode().strip() in PAGE


def test_every_path_on_the_page_is_there() -> None:
    """And every path that is there is on the page."""
    paths = {
        f"{method.upper()} {path}" for path, methods in create_app(service_of()).openapi()["paths"].items() for method in methods
    }
    listed = set(re.findall(r"^\| `((?:GET|POST) /[^`]*)`", PAGE, flags=re.MULTILINE)) - {"POST /v1/login", "POST /v1/logout"}

    assert paths == listed


def test_every_option_on_the_page_is_one() -> None:
    """Of `dagwright serve`."""
    serve = CliRunner().invoke(app, ["serve", "--help"], env={"COLUMNS": "300"}).stdout

    assert "--host" in serve
    for line in re.findall(r"dagwright serve[^\n`]*", PAGE):
        for option in re.findall(r"--[a-z-]+", line):
            assert option in serve, line
