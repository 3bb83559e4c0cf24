"""What steps of several kinds have in common."""

from collections.abc import Iterator

from pydantic import AliasChoices, Field

from planner.diagnostics import Diagnostic, error
from planner.errors import BadCondition
from planner.plan.fields import Frozen, Id, Ids, OutputSchema
from planner.plan.policies import Check, Estimate, ExpressionCheck, JudgeCheck, OnFailure, SchemaCheck, ToolCheck, check_texts
from registry.calls import InDoubt
from registry.messages import Json, Schema

MOST_RETRIES = 10


class BaseStep(Frozen):
    """What steps of every kind share.

    `depends_on` may also be written `dependencies` or `needs`; a reference in the step adds to it by itself. With `when` the
    step is only done if that condition holds (`planner.conditions`). `timeout` is seconds, None for the run's default (600).
    `on_failure` says what a failure does to others: "skip_dependents" skips what waits for the step, "continue" lets them
    start without its result, "stop" lets nothing new start, "replan" does too and asks for a new plan. Of an `optional` step
    nothing depends: what waits for it starts in any case, and the goal may be met without it. `in_doubt` says what becomes of
    an effect that was begun when the process died: "ask" a person, "retry" and risk that it happens twice, "skip" it, "fail",
    or "probe" the tool before a person is asked. An `estimate` is for forecasts.
    """

    id: Id
    task: str = ""
    depends_on: Ids = Field(default=(), validation_alias=AliasChoices("depends_on", "dependencies", "needs"))
    when: str | None = None
    timeout: float | None = Field(default=None, gt=0)
    on_failure: OnFailure = "skip_dependents"
    optional: bool = False
    in_doubt: InDoubt = "ask"
    estimate: Estimate | None = None

    @property
    def about(self) -> str:
        """What the step is for, in words; empty where its fields say it all."""
        return self.task

    @property
    def policy(self) -> OnFailure:
        """What a failure of the step does to others."""
        return "continue" if self.optional and self.on_failure == "skip_dependents" else self.on_failure

    def texts(self) -> Iterator[tuple[str, Json]]:
        """Every value of the step that may hold references, with its place relative to the step."""
        yield "/task", self.task
        if self.when is not None:
            yield "/when", self.when

    def tool_names(self) -> Iterator[tuple[str, str]]:
        """Every tool that the step names, with its place relative to the step."""
        yield from ()

    def model_names(self) -> Iterator[tuple[str, str]]:
        """Every model or role that the step names, with its place relative to the step."""
        yield from ()

    def faults(self) -> Iterator[Diagnostic]:
        """What is wrong with the step by itself, with places relative to it."""
        if self.when is not None:
            yield from condition_faults("/when", self.when)


class WorkStep(BaseStep):
    """What steps share that are work, and so may be tried again.

    `retries` is how many tries may follow a failed one, on each model. With an `output_schema` the step gives data that fits it,
    or fails. `verify` decides whether a result is good: one that is not has failed, and the next try is told why.
    """

    retries: int = Field(default=0, ge=0, le=MOST_RETRIES)
    output_schema: OutputSchema | None = None
    verify: Check | None = None

    def texts(self) -> Iterator[tuple[str, Json]]:
        yield from super().texts()
        if self.verify is not None:
            yield from (("/verify" + place, value) for place, value in check_texts(self.verify))

    def tool_names(self) -> Iterator[tuple[str, str]]:
        if isinstance(self.verify, ToolCheck):
            yield "/verify/tool", self.verify.tool

    def model_names(self) -> Iterator[tuple[str, str]]:
        if isinstance(self.verify, JudgeCheck) and self.verify.model is not None:
            yield "/verify/model", self.verify.model

    def faults(self) -> Iterator[Diagnostic]:
        yield from super().faults()
        yield from () if self.output_schema is None else schema_faults("/output_schema", self.output_schema)
        match self.verify:
            case ExpressionCheck(holds=holds):
                yield from condition_faults("/verify/holds", holds)
            case SchemaCheck(fits=fits):
                yield from schema_faults("/verify/fits", fits)
            case _:
                pass


def condition_faults(place: str, text: str) -> Iterator[Diagnostic]:
    """What keeps the text from being a condition."""
    from planner.conditions import condition

    try:
        condition(text)
    except BadCondition as bad:
        yield error("P026", place, str(bad))


def schema_faults(place: str, schema: Schema) -> Iterator[Diagnostic]:
    """What keeps the value from being a JSON Schema."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    try:
        validator_for(schema, default=Draft202012Validator).check_schema(dict(schema))
    except SchemaError as wrong:
        where = wrong.json_path.removeprefix("$").lstrip(".")
        yield error("P028", place, f"{where}: {wrong.message}" if where else wrong.message)
