"""Public faults of kind A, malformed or odd structured output: the right value of each, through every door that reads one."""

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from registry.calls import NO_CALL, Call
from registry.errors import NoTypedAnswer
from registry.messages import AssistantMessage, Json, Reply, Request, Schema, ToolCall, ToolSpec, UserMessage
from registry.models.model import Abilities
from registry.structured import Extracted, StructuredCallResult, extract_json, structured_llm_call
from registry.testing import ScriptedModel, says
from registry.tools.calling import call_tool
from registry.tools.registry import ToolRegistry
from registry.tools.tool import Observation, ToolTraits
from registry.wire.lift import lift
from registry.wire.lower import lower
from registry.wire.rules import COMPATIBLE

pytestmark = pytest.mark.anyio

CASES: Mapping[str, Mapping[str, Json]] = {
    case["id"]: case for case in map(json.loads, (Path(__file__).parent / "data" / "kind_a.jsonl").read_text().splitlines())
}
ANY_OBJECT = {"type": "object"}

NATIVE: Abilities = {"tool_call": True}
JSON_MODE: Abilities = {"json_mode": True}
TEXT_ONLY: Abilities = {}


def case(case_id: str) -> pytest.MarkDecorator:
    """The test of one case, under its name: the case says what went in and what is right."""
    return pytest.mark.parametrize("case", [pytest.param(CASES[case_id], id=case_id)])


def schema_of(case: Mapping[str, Json]) -> Schema:
    schema: Schema = case["input"].get("schema", ANY_OBJECT)
    return schema


# What a door made of a text: the value, as JSON text so that 1, 1.0 and true differ, or the kind of refusal.
Outcome = str


def found(value: Json) -> Outcome:
    return "found " + json.dumps(value, sort_keys=True)


def refused(why: str) -> Outcome:
    return f"refused: {why}"


async def by_extraction(raw: str, schema: Schema | None) -> Outcome:
    """`extract_json`."""
    read = extract_json(raw, schema)
    return found(read.value) if isinstance(read, Extracted) else refused(read.why)


async def asked(reply: Reply, schema: Schema | None, abilities: Abilities) -> Outcome:
    """`structured_llm_call`, of a model that never says anything else."""
    try:
        result = await structured_llm_call(
            ScriptedModel(lambda _: reply, abilities=abilities), [UserMessage(text="?")], schema or ANY_OBJECT, NO_CALL
        )
    except NoTypedAnswer:
        return refused("NoTypedAnswer")
    return found(result.value)


async def by_native_call(raw: str, schema: Schema | None) -> Outcome:
    """`structured_llm_call`, with the text as the arguments of the forced call."""
    return await asked(Reply(calls=(ToolCall(id="1", name="answer", arguments=raw),)), schema, NATIVE)


async def by_json_mode(raw: str, schema: Schema | None) -> Outcome:
    """`structured_llm_call`, with the text as the answer in JSON mode."""
    return await asked(says(raw), schema, JSON_MODE)


async def by_words(raw: str, schema: Schema | None) -> Outcome:
    """`structured_llm_call`, with the text as the answer of a model that can only talk."""
    return await asked(says(raw), schema, TEXT_ONLY)


class Recorder:
    """A tool of a schema that keeps what it is given."""

    traits = ToolTraits()

    def __init__(self, schema: Schema) -> None:
        self.spec = ToolSpec(name="record", description="", parameters=schema)
        self.given: list[Mapping[str, Json]] = []

    async def run(self, args: Mapping[str, Json], call: Call) -> object:
        self.given.append(args)
        return "done"


async def called(recorder: Recorder, raw: str) -> Observation:
    return await call_tool(ToolRegistry([recorder]), ToolCall(id="1", name="record", arguments=raw), NO_CALL)


async def by_tool(raw: str, schema: Schema | None) -> Outcome:
    """`call_tool`: what the tool was given, or which error the model reads."""
    recorder = Recorder(schema or ANY_OBJECT)
    seen = await called(recorder, raw)
    assert ([] if seen.error else [None]) == [None for _ in recorder.given], "a refused call never runs"
    return found(recorder.given[0]) if recorder.given else refused(str(seen.error))


Door = Callable[[str, Schema | None], Awaitable[Outcome]]

ANSWER: tuple[Door, ...] = (by_extraction, by_native_call, by_json_mode, by_words)
ARGUMENTS: tuple[Door, ...] = (by_tool,)


def rows(case_id: str, doors: tuple[Door, ...], outcome: Outcome | None = None, because: str = "") -> list[Any]:
    """One case at several doors. `outcome` is given where it is no value, and `because` where it is not the case's own."""
    value = CASES[case_id]["check"]["result"].get("value")
    wanted = found(value) if outcome is None else outcome
    return [pytest.param(CASES[case_id], door, wanted, because, id=f"{case_id}-{door.__name__}") for door in doors]


TYPED_ARGUMENTS = "arguments are held against the tool's schema as they are; the error names the field"
NOT_EMPTIED = "a repair never empties arguments, and the text null is no object"
ALWAYS_AN_ANSWER = "of an answer, nothing is not an object: only the arguments of a call may be left out"

TABLE = [
    *rows("A01", ANSWER + ARGUMENTS),
    *rows("A03", ANSWER + ARGUMENTS),
    *rows("A04", (by_extraction,), refused("several")),
    *rows("A04", ANSWER[1:], refused("NoTypedAnswer")),
    *rows("A04", ARGUMENTS, refused("BadArguments")),
    *rows("A05", ANSWER + ARGUMENTS),
    *rows("A07", ANSWER),
    *rows("A09", ANSWER),
    *rows("A10", ANSWER + ARGUMENTS),
    *rows("A12", ANSWER),
    *rows("A13", ANSWER),
    *rows("A15", ANSWER),
    *rows("A17", ANSWER),
    *rows("A18", ANSWER),
    *rows("A19", (by_extraction,), refused("truncated")),
    *rows("A19", ANSWER[1:], refused("NoTypedAnswer"), "truncation is a failed attempt of the call, never continued"),
    *rows("A19", ARGUMENTS, refused("BadArguments")),
    *rows("A21", (by_extraction,), refused("truncated")),
    *rows("A22", (by_native_call, by_tool)),
    *rows("A22", (by_extraction,), refused("nothing"), ALWAYS_AN_ANSWER),
    *rows("A23", ARGUMENTS, refused("BadArguments"), NOT_EMPTIED),
    *rows("A23", (by_extraction,), refused("schema"), NOT_EMPTIED),
    *rows("A23", ANSWER[1:], refused("NoTypedAnswer"), NOT_EMPTIED),
    *rows("A24", ANSWER + ARGUMENTS),
    *rows("A26", ANSWER + ARGUMENTS),
    *rows("A28", ANSWER + ARGUMENTS),
    *rows("A30", ANSWER + ARGUMENTS),
    *rows("A31", ANSWER + ARGUMENTS),
    *rows("A33", ANSWER + ARGUMENTS),
    *rows("A34", ANSWER + ARGUMENTS),
    *rows("A36", ANSWER + ARGUMENTS),
    *rows("A37", ANSWER + ARGUMENTS),
    *rows("A38", ANSWER + ARGUMENTS),
    *rows("A39", ANSWER + ARGUMENTS),
    *rows("A41", ANSWER),
    *rows("A41", ARGUMENTS, refused("BadArguments")),
    *rows("A42", ANSWER),
    *rows("A42", ARGUMENTS, refused("BadArguments")),
    *rows("A43", ANSWER + ARGUMENTS),
    *rows("A44", ANSWER, because="the published value went through a float itself; every digit counts"),
    *rows("A44", ARGUMENTS, refused("BadArguments"), TYPED_ARGUMENTS),
    *rows("A46", (by_extraction,), refused("duplicate_key")),
    *rows("A46", ANSWER[1:], refused("NoTypedAnswer")),
    *rows("A46", ARGUMENTS, refused("BadArguments")),
    *rows("A48", ANSWER),
    *rows("A50", (by_extraction,), refused("schema")),
    *rows("A50", ARGUMENTS, refused("BadArguments")),
    *rows("A52", ANSWER),
    *rows("A53", ANSWER + ARGUMENTS),
    *rows("A54", ANSWER + ARGUMENTS),
]


@pytest.mark.parametrize(("case", "door", "wanted", "because"), TABLE)
async def test_the_right_value(case: Mapping[str, Json], door: Door, wanted: Outcome, because: str) -> None:
    """Every door gives the value that is right, or refuses where none is."""
    assert wanted == await door(case["input"]["raw"], case["input"].get("schema")), because or case["right"]


def test_no_case_is_left_out() -> None:
    """The table has a row for each case."""
    assert set(CASES) == {row.values[0]["id"] for row in TABLE}


@pytest.mark.parametrize(
    ("raw", "door", "wanted"),
    [
        pytest.param('{"a": 1}, "b": 2}', by_extraction, refused("syntax"), id="a member after the end of its object"),
        pytest.param("{'a': 1}, 'b': 2}", by_extraction, refused("syntax"), id="the same in Python"),
        pytest.param('{"a": 1}, and so on', by_extraction, found({"a": 1}), id="prose with a comma"),
        pytest.param("{\"a\": 1}, 'b': 2}", by_tool, refused("BadArguments"), id="a lost member in other quotes"),
        pytest.param('{"a": 1}, b: 2}', by_tool, refused("BadArguments"), id="a lost member without quotes"),
        pytest.param('{"a": 1,} Now to work.', by_tool, found({"a": 1}), id="mended, then prose"),
        pytest.param('{"a": 1,}{"b": 2}', by_tool, refused("BadArguments"), id="mended, then a second object"),
        pytest.param('{"a": NaN,}', by_tool, refused("BadArguments"), id="mended, but not a number"),
        pytest.param('{"a": true, "a": 1}', by_tool, refused("BadArguments"), id="true is not one"),
        pytest.param('{"a": 1, // first\n "a": 2}', by_tool, refused("BadArguments"), id="mended, with conflicting keys"),
        pytest.param('{"a": ["x", "y', by_tool, refused("BadArguments"), id="cut off"),
        pytest.param("{a: 1}", by_tool, refused("BadArguments"), id="bare keys"),
        pytest.param("{'a': 1}, 'b': 2}", by_tool, refused("BadArguments"), id="a lost member in Python"),
        pytest.param("{'a': 1}{'b': 2}", by_tool, refused("BadArguments"), id="two objects in Python"),
        pytest.param("{'a': 'x', 'a': None}", by_tool, refused("BadArguments"), id="conflicting keys in Python"),
        pytest.param("{'a': ['x', None", by_tool, refused("BadArguments"), id="cut off in Python"),
        pytest.param("run {} now", by_tool, refused("BadArguments"), id="an object in a command"),
        pytest.param('"{\\"t\\": \\"\\\\ud83d\\"}"', by_tool, found({"t": "\ufffd"}), id="half a pair, encoded twice"),
    ],
)
async def test_their_kin(raw: str, door: Door, wanted: Outcome) -> None:
    """What holds for a case holds for its kind."""
    assert wanted == await door(raw, None)


@case("A04")
async def test_two_objects_are_told(case: Mapping[str, Json]) -> None:
    """The model reads what was too much, and the next request's history holds no text that is not an object."""
    raw = case["input"]["raw"]
    seen = await called(Recorder(ANY_OBJECT), raw)

    assert 'wrong arguments for \'record\': more follows the JSON object: {"file":"two.py"}' == seen.text
    assert {"unreadable": raw} == json.loads(sent_arguments(raw))


def sent_arguments(raw: str) -> str:
    """The arguments of a call as the next request tells of them."""
    history = AssistantMessage(text="", calls=(ToolCall(id="1", name="record", arguments=raw),))
    body = orjson.loads(lower(Request(messages=(history,)), model="m", rules=COMPATIBLE))
    arguments: str = body["messages"][0]["tool_calls"][0]["function"]["arguments"]
    return arguments


@case("A17")
async def test_an_answer_filed_under_reasoning(case: Mapping[str, Json]) -> None:
    """The reasoning is the last candidate: valid JSON throughout, and with a note."""
    message = case["input"]["message"]
    result = await answered([Reply(text=message["content"] or "", reasoning=message["reasoning_content"])], schema_of(case))

    assert (case["check"]["result"]["value"], 1) == (result.value, result.attempts)
    assert ("the answer was in the reasoning",) == result.notes


async def answered(
    script: list[Reply | str], schema: Schema, abilities: Abilities = JSON_MODE, question: str = "?"
) -> StructuredCallResult[Any]:
    with ScriptedModel(script, abilities=abilities) as model:
        return await structured_llm_call(model, [UserMessage(text=question)], schema, NO_CALL)


@case("A19")
async def test_a_cut_reply_is_no_success(case: Mapping[str, Json]) -> None:
    """Not even a reply that looks whole is taken when the token limit ended it: the typed error says so."""
    whole = case["input"]["raw"] + "]}"
    cut = Reply(text=whole, finish=case["input"]["finish_reason"])
    assert found({"title": "Port list", "ports": ["Brest", "Cork"]}) == await by_extraction(whole, schema_of(case))

    with pytest.raises(NoTypedAnswer, match="cut off at the token limit"):
        await answered([cut, cut], schema_of(case))


@case("A21")
async def test_a_cut_reply_is_not_sent_back(case: Mapping[str, Json]) -> None:
    """However long it was, all requests together stay under two and a half times the first."""
    long = case["input"]["raw"].ljust(50_000, "x")
    model = ScriptedModel(lambda _: Reply(text=long, finish="length"), abilities={"tool_call": True, "json_mode": True})
    with pytest.raises(NoTypedAnswer):
        await structured_llm_call(model, [UserMessage(text="List the rows. " * 200)], ANY_OBJECT, NO_CALL)

    sizes = [len(lower(request, model="m", rules=COMPATIBLE)) for request in model.requests]
    assert sum(sizes) < 2.5 * sizes[0]
    assert not any("xxx" in message.text for request in model.requests for message in request.messages)


@case("A23")
async def test_no_arguments_are_sent_as_an_empty_object(case: Mapping[str, Json]) -> None:
    """Outbound arguments are always the text of an object."""
    assert "history entry with arguments {} must serialise to the two characters {}" == case["input"]["also_outbound"]
    assert "{}" == sent_arguments("{}")
    assert isinstance(json.loads(sent_arguments(case["input"]["raw"])), dict)


@case("A24")
async def test_arguments_that_are_no_text(case: Mapping[str, Json]) -> None:
    """None, an object and the text of one are told apart where the reply comes in."""
    given = []
    for value in case["input"]["values"]:
        entry = {"id": "1", "type": "function", "function": {"name": "record", "arguments": value}}
        choice = {"message": {"role": "assistant", "content": None, "tool_calls": [entry]}, "finish_reason": "tool_calls"}
        reply = lift(json.dumps({"choices": [choice]}).encode(), endpoint="m")
        recorder = Recorder(ANY_OBJECT)
        await called(recorder, reply.calls[0].arguments)
        given += recorder.given

    assert case["input"]["expected"] == given


@case("A46")
async def test_conflicting_keys_are_named(case: Mapping[str, Json]) -> None:
    """The error names the key."""
    seen = await called(Recorder(ANY_OBJECT), case["input"]["raw"])

    assert "the key 'path' comes twice with different values" in seen.text


@case("A50")
async def test_padding_leaves_json_mode(case: Mapping[str, Json]) -> None:
    """An empty object and endless blanks fail the schema, and the ladder moves on without JSON mode."""
    padded = case["input"]["raw"]
    result = await answered([padded, padded, '{"answer": "yes"}'], schema_of(case))

    assert ({"answer": "yes"}, "text", 3) == (result.value, result.rung, result.attempts)
