"""What a model can really do, found by asking it: for a token, a tool call, a JSON object, and one of a given schema."""

from collections.abc import Callable, Iterable, Mapping

import anyio
from msgspec import Struct
from msgspec.structs import replace

from registry.calls import NO_CALL
from registry.errors import BadArguments, Garbled, ModelError, Refused, Unreachable
from registry.messages import Reply, Request, ResponseFormat, Schema, ToolSpec, UserMessage
from registry.models.model import Abilities, Model
from registry.structured.extract import Unreadable, read_strictly
from registry.structured.shapes import shape_of
from registry.tools.arguments import canonical_name, check_arguments, read_arguments

PATIENCE = 30.0
"""Seconds that each question may take, queueing included."""

MOST_TOKENS = 512
"""The cap of a reply that is to show an ability. A model that thinks first needs the room."""


class Outcome(Struct, frozen=True):
    """What one question came to, and the seconds that took, queueing not included."""

    said: Reply | ModelError
    seconds: float


class Probed(Struct, frozen=True, kw_only=True):
    """What a model turned out to be.

    It is `reachable` if any question got a reply. `can` says of each ability whether the model showed it, None where that can't
    be known, as after an outage. `seconds` is what the question for one token took. `notes` give the reason for each lack.
    """

    model: str
    declared: Abilities
    reachable: bool
    can: Mapping[str, bool | None]
    seconds: float
    notes: tuple[str, ...] = ()


class _Question(Struct, frozen=True, eq=False):
    """A question that lets a model show an ability. `fault` says why a reply does not show it, None if it does."""

    request: Request
    fault: Callable[[Reply], str | None]


def _closed(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


_NOTE_WORD = ToolSpec(
    name="note_word", description="Write one word into the notebook.", parameters=_closed(word={"type": "string"})
)
_WORD = ResponseFormat(name="word")
_HUE = ResponseFormat(
    name="hue", schema=_closed(hue={"type": "string", "enum": ["red", "green", "blue"]}, amount={"type": "integer"})
)


def _asking(text: str) -> Request:
    return Request(messages=(UserMessage(text=text),), max_tokens=MOST_TOKENS)


def _call_fault(reply: Reply) -> str | None:
    wanted = next((call for call in reply.calls if canonical_name(call.name) == _NOTE_WORD.name), None)
    if wanted is None:
        return f"it called {reply.calls[0].name!r} instead of {_NOTE_WORD.name!r}" if reply.calls else "it called no tool"
    try:
        check_arguments(_NOTE_WORD, read_arguments(_NOTE_WORD, wanted.arguments))
    except BadArguments as error:
        return str(error)
    return None


def _json_fault(schema: Schema) -> Callable[[Reply], str | None]:
    def fault(reply: Reply) -> str | None:
        found = read_strictly(reply.text, shape_of(schema))
        # What had to be changed to fit did not fit.
        return found.message if isinstance(found, Unreadable) else "; ".join(found.notes) or None

    return fault


PLAIN = "one token"
"""What the question that asks for no ability is called."""

_QUESTIONS: Mapping[str, _Question] = {
    PLAIN: _Question(replace(_asking("Say yes."), max_tokens=1), lambda _: None),
    # Not forced: an agent leaves the choice to its model, so the model must be able to choose.
    "tool_call": _Question(
        replace(_asking(f"Use the tool {_NOTE_WORD.name} to note the word 'tide'."), tools=(_NOTE_WORD,)), _call_fault
    ),
    "json_mode": _Question(
        replace(_asking('Answer with this JSON object and nothing else: {"word": "tide"}'), response_format=_WORD),
        _json_fault(_closed(word={"type": "string"})),
    ),
    # The question does not name the members: a reply fits if the endpoint holds it to the schema, and hardly by chance.
    "json_schema": _Question(
        replace(_asking("Name a colour and a number, as JSON."), response_format=_HUE), _json_fault(_HUE.schema or {})
    ),
}


async def probe(model: Model, *, patience: float = PATIENCE) -> Probed:
    """Asks the model everything at once. A question without a reply after `patience` seconds counts as an outage."""
    outcomes: dict[str, Outcome] = {}

    async def ask(name: str, request: Request) -> None:
        outcomes[name] = await _outcome(model, request, patience)

    async with anyio.create_task_group() as group:
        for name, question in _QUESTIONS.items():
            group.start_soon(ask, name, question.request)
    return judged(model.name, model.abilities, outcomes)


async def probe_all(models: Iterable[Model]) -> tuple[Probed, ...]:
    """`probe` for each of the models, side by side. The results are in the order of the models."""
    found: dict[int, Probed] = {}

    async def one(place: int, model: Model) -> None:
        found[place] = await probe(model)

    async with anyio.create_task_group() as group:
        for place, model in enumerate(models):
            group.start_soon(one, place, model)
    return tuple(found[place] for place in sorted(found))


def judged(model: str, declared: Abilities, outcomes: Mapping[str, Outcome]) -> Probed:
    """What the outcomes say of a model. They go by the abilities' names, and `PLAIN`."""
    first = outcomes[PLAIN]
    reachable = any(isinstance(outcome.said, Reply) for outcome in outcomes.values())
    if not reachable:
        notes: tuple[str, ...] = (str(first.said),)
        shown: dict[str, bool | None] = dict.fromkeys(_QUESTIONS)
    else:
        faults = {name: _fault(question, outcomes[name].said) for name, question in _QUESTIONS.items()}
        notes = tuple(f"{name}: {fault}" for name, fault in faults.items() if fault is not None)
        shown = {name: _shows(outcomes[name].said, faults[name]) for name in _QUESTIONS}
    del shown[PLAIN]
    return Probed(model=model, declared=declared, reachable=reachable, can=shown, seconds=first.seconds, notes=notes)


async def _outcome(model: Model, request: Request, patience: float) -> Outcome:
    began = anyio.current_time()
    said: Reply | ModelError = Unreachable(model.name, f"no reply within {patience:g} s")
    with anyio.move_on_after(patience):
        try:
            said = await model.chat(request, replace(NO_CALL, deadline=began + patience))
        except ModelError as error:
            said = error
    waited = said.waited if isinstance(said, Reply) else 0.0
    return Outcome(said, anyio.current_time() - began - waited)


def _fault(question: _Question, said: Reply | ModelError) -> str | None:
    """Why the ability was not shown, None if it was."""
    if isinstance(said, ModelError):
        return str(said)
    fault = question.fault(said)
    return f"the reply was cut off at {MOST_TOKENS} tokens" if fault and said.finish == "length" else fault


def _shows(said: Reply | ModelError, fault: str | None) -> bool | None:
    """Whether the ability is there. An endpoint that refuses or botches a question lacks it; one that is down may have it."""
    if isinstance(said, Reply | Refused | Garbled):
        return fault is None
    return None
