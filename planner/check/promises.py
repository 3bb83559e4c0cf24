"""The check of what travels along edges: a reference reads only what its step promises, and a tool gets what it takes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

from planner.check.known import Known
from planner.check.schemas import ANYTHING, Lacking, at_path, json_types, types_of
from planner.diagnostics import Diagnostic, error, pointer
from planner.mentions import Mentions, mentions
from planner.plan import AnyStep, ApprovalStep, Draft, Input, MapStep, PlanStep, Step, ToolStep
from planner.references import OUTPUT, STATUS, Reference, Unreadable, only, rendered, scan
from registry.errors import there_are
from registry.messages import Json, Schema

_TEXT: Schema = {"type": "string"}
_APPROVAL: Schema = {
    "type": "object",
    "properties": {"by": _TEXT, "text": _TEXT},
    "additionalProperties": False,
}


def promise_errors(draft: Draft, known: Known, said: Sequence[Mentions] | None = None) -> tuple[Diagnostic, ...]:
    """References that read what nobody promises (P018), and arguments that their tool can't take (P019).

    `said` is what each step mentions, where that has been read already.
    """
    said = [mentions(step) for step in draft.steps] if said is None else said
    source = Sources(draft.steps, draft.inputs, known)
    of_steps = (
        replace(found, place=pointer("steps", index) + found.place)
        for index, step in enumerate(draft.steps)
        for found in chain(_unpromised(said[index].found, source), _of_work(step, known, source))
    )
    return tuple(chain(of_steps, _unpromised([("/output", found) for found in scan(draft.output)], source)))


def _of_work(step: AnyStep, known: Known, source: "Sources") -> Iterator[Diagnostic]:
    match step:
        case ToolStep(tool=tool) if tool in known.specs:
            parameters = known.specs[tool].parameters
            yield from _unfit(step.args, parameters)
            yield from _mistyped(step.args, parameters, source)
        case MapStep(step=inner, over=over):
            given = _given(over, source) if isinstance(over, str) and only(over) else None
            if given and "array" not in given:
                yield error("P018", "/over", f"a list is due, and {rendered(over)} gives {' or '.join(sorted(given))}")
            yield from (replace(found, place="/step" + found.place) for found in _of_work(inner, known, source))
        case PlanStep(plan=plan):
            yield from (replace(found, place="/plan" + found.place) for found in promise_errors(plan, known))
        case _:
            return


class Sources:
    """What references lead to, as far as it is known before anything has run."""

    def __init__(self, steps: Iterable[AnyStep], inputs: Mapping[str, Input], known: Known) -> None:
        """Of steps that share an id the first counts."""
        self._inputs, self._traits = inputs, known.traits
        self._steps: dict[str, AnyStep] = {}
        for step in steps:
            self._steps.setdefault(step.id, step)

    def promised(self, reference: Reference) -> Schema | Lacking:
        """The schema of what it leads to: an empty one where nobody knows. What names nothing is another check's."""
        match reference:
            case Reference(source="steps", path=path) if path in (OUTPUT, STATUS):
                return _TEXT
            case Reference(source="inputs", name=name, path=path) if name in self._inputs:
                return at_path({"type": self._inputs[name].type}, path)
            case Reference(source="steps", name=name, path=path) if name in self._steps:
                data = self._data_of(self._steps[name])
                return Lacking("it gives plain text, without an output_schema") if data is None else at_path(data, path[1:])
            case _:
                return ANYTHING

    def _data_of(self, step: AnyStep) -> Schema | None:
        """The schema of the step's data, an empty one where nobody knows, None where it has none."""
        match step:
            case Step():
                return step.output_schema
            case ToolStep(tool=tool):
                offered = self._traits[tool].result if tool in self._traits else None
                return step.output_schema or offered or ANYTHING
            case ApprovalStep():
                return _APPROVAL
            case MapStep(step=inner, on_item_failure=failing):
                # An item without data gives its text, and what became of one that failed may be among them.
                each = self._data_of(inner) if failing != "collect" else None
                return {"type": "array", "items": each or ANYTHING}
            case PlanStep():
                return ANYTHING


def _unpromised(said: Iterable[tuple[str, Reference | Unreadable]], source: Sources) -> Iterator[Diagnostic]:
    for place, reference in said:
        promised = source.promised(reference) if isinstance(reference, Reference) else ANYTHING
        if isinstance(reference, Reference) and isinstance(promised, Lacking):
            whose = f"{'input' if reference.source == 'inputs' else 'step'} {reference.name!r}"
            message = f"{reference.text} reads what {whose} does not promise: {promised.why}"
            yield error("P018", place + reference.place, message)


def _unfit(args: Mapping[str, Json], parameters: Schema) -> Iterator[Diagnostic]:
    """Arguments that the tool doesn't know, and those that it can't do without."""
    named: Mapping[str, Schema] = parameters.get("properties", {})
    closed = parameters.get("additionalProperties") is False
    for name in args:
        if closed and name not in named:
            yield error("P019", pointer("args", name), f"the tool has no parameter {name!r}; {there_are(name, named)}")
    required: Sequence[str] = parameters.get("required", ())
    for name in required:
        if name not in args:
            yield error("P019", "/args", f"the tool needs the argument {name!r}", fix="add it")


def _mistyped(args: Mapping[str, Json], parameters: Schema, source: Sources) -> Iterator[Diagnostic]:
    for name, value in args.items():
        taken = types_of(at_path(parameters, (name,)), parameters)
        given = _given(value, source)
        if taken and given and not given & taken:
            comes, due = " or ".join(sorted(given)), " or ".join(sorted(taken))
            yield error("P019", pointer("args", name), f"the tool takes {due} for {name!r}, and this gives {comes}")


def _given(value: Json, source: Sources) -> frozenset[str]:
    """The types that the value may have when the step begins; none where nobody knows."""
    reference = only(value) if isinstance(value, str) else None
    if reference is None:
        return json_types(value)
    return types_of(source.promised(reference), ANYTHING)
