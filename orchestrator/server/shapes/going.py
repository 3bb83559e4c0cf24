"""The bodies of answers."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from orchestrator.server.shapes.examples import PLAN, RUN, USAGE, WAITING, example
from orchestrator.server.tenancy import State
from orchestrator.waiting import Decision, WaitingKind
from planner.diagnostics import Severity


class Told(BaseModel):
    """Never changed once it is made."""

    model_config = ConfigDict(frozen=True)


class UsageOut(Told):
    """While `unmetered` is not 0 the tokens are lower bounds; `cost` is in dollars, and one unless `priced` equals `requests`."""

    requests: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    unmetered: int
    cost: str
    priced: int


class WaitingOut(Told):
    """Something that only a person can say. `decisions` are what can be said."""

    model_config = example(
        run=RUN, id=WAITING, kind="approval", step_id="send", what="send('hello')", decisions=["approve", "reject"]
    )

    run: str
    id: str
    kind: WaitingKind
    step_id: str
    what: str
    decisions: list[Decision]


class RunLine(Told):
    """A run at a glance. `began` and `latest` are the times of its first and last event, in seconds since 1970."""

    model_config = example(id=RUN, state="running", goal="Compare two harbours", began=1764547200.0, latest=1764547201.5)

    id: str
    state: State
    goal: str
    began: float | None
    latest: float | None
    attached: bool = False
    damage: str = ""


class StepLine(Told):
    """A step of the last plan, and of those inside others whatever has begun."""

    id: str
    state: Literal["waiting", "running", "paused", "completed", "failed", "skipped"]
    kind: str = ""
    model: str = ""
    seconds: float | None = None
    output: str = ""
    error: str = ""


class RunOut(RunLine):
    """All that there is to know of a run. `events` is the number of its last event, `answer` the whole answer if there is one."""

    model_config = example(
        id=RUN,
        state="achieved",
        goal="Compare two harbours",
        began=1.76e9,
        latest=1.76e9,
        plan=PLAN,
        round=1,
        steps=[{"id": "north", "state": "completed", "kind": "agent", "model": "big", "seconds": 2.5, "output": "Ice-free."}],
        answer="Narvik exports ore, and Genoa takes in containers.",
        error="",
        usage=USAGE,
        waiting=[],
        events=31,
    )

    plan: dict[str, JsonValue] | None
    round: int
    steps: list[StepLine]
    answer: str
    error: str
    usage: UsageOut
    waiting: list[WaitingOut]
    events: int


class RunPage(Told):
    """Newest first. `next` is the cursor of the following page; a page may be short, and the end is where there is no `next`."""

    model_config = example(runs=[], next=RUN)

    runs: list[RunLine]
    next: str | None


class PendingOut(Told):
    waiting: list[WaitingOut]


class DiagnosticOut(Told):
    """`place` is a JSON pointer into the plan; `line` and `column` are there where the plan came as text."""

    model_config = example(
        code="P005", severity="error", place="/steps/1/depends_on/0", message="no step 'nroth'", fix="did you mean 'north'?"
    )

    code: str
    severity: Severity
    place: str
    message: str
    fix: str
    line: int | None = None
    column: int | None = None


class Checked(Told):
    model_config = example(ok=True, steps=3, diagnostics=[])

    ok: bool
    steps: int
    diagnostics: list[DiagnosticOut]


class Drafted(Told):
    """A plan to look at, to change and to run: nothing of it has been done."""

    model_config = example(plan=PLAN, diagnostics=[], usage=USAGE)

    plan: dict[str, JsonValue]
    diagnostics: list[DiagnosticOut]
    usage: UsageOut


class ModelOut(Told):
    """A hint in a plan may be the name or any of the roles. `context_window` is in tokens, null where nobody knows."""

    model_config = example(name="big", roles=["planning"], context_window=128_000, abilities={"tool_call": True})

    name: str
    roles: list[str]
    context_window: int | None
    abilities: dict[str, bool]


class ToolOut(Told):
    model_config = example(
        name="calculator", description="Works out an expression.", parameters={}, effect="pure", requires_approval=False
    )

    name: str
    description: str
    parameters: dict[str, JsonValue]
    effect: Literal["pure", "keyed", "transactional", "unkeyed"]
    requires_approval: bool


class Health(Told):
    model_config = example(status="ok")

    status: Literal["ok", "starting", "draining"]


class ProblemOut(BaseModel):
    """RFC 9457. Further members say what there is, or what was found."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:dagwright:unknown-run",
                    "title": "There is no such run",
                    "status": 404,
                    "detail": "no run 'default.4f1c2a9be07d'",
                }
            ]
        },
    )

    type: str
    title: str
    status: int
    detail: str
