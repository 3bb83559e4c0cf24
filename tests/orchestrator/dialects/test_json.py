"""One JSON object a reply."""

import json

import jsonschema
import pytest

from orchestrator.dialects import Act, Conclude, Garbled, JsonDialect
from registry.messages import AssistantMessage, Json, Reply, Request, ToolSpec, UserMessage
from registry.models.model import Abilities
from registry.tools.tool import Observation

SPEC = ToolSpec(
    name="add",
    description="Add two numbers.",
    parameters={"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
)


def read(text: str, reasoning: str = "") -> Act | Conclude | Garbled:
    return JsonDialect({}).read(Reply(text=text, reasoning=reasoning))


def asked(abilities: Abilities, *, may_act: bool = True) -> Request:
    return JsonDialect(abilities).request((UserMessage(text="go"),), (SPEC,), may_act=may_act)


@pytest.mark.parametrize(
    ("said", "name", "arguments"),
    [
        pytest.param({"tool_call": {"name": "add", "arguments": {"a": 1}}}, "add", '{"a": 1}', id="object"),
        pytest.param({"tool_call": {"name": "add", "arguments": '{"a": 1}'}}, "add", '{"a": 1}', id="arguments as text"),
        pytest.param({"tool_call": {"name": "add", "arguments": None}}, "add", "{}", id="null arguments"),
        pytest.param({"tool_call": {"name": "add"}}, "add", "{}", id="no arguments"),
        pytest.param({"tool_call": {"name": "add", "arguments": [1]}}, "add", "[1]", id="a list, for the schema to refuse"),
        pytest.param({"tool_call": {"name": "say", "arguments": {"t": "ä"}}}, "say", '{"t": "ä"}', id="letters as they are"),
        pytest.param({"tool_call": {"name": "add"}, "final_answer": "x"}, "add", "{}", id="acts before it concludes"),
        pytest.param({"name": "add", "arguments": {"a": 1}}, "add", '{"a": 1}', id="the bare call"),
    ],
)
def test_a_tool_call_is_read(said: Json, name: str, arguments: str) -> None:
    """Name and arguments come out as they were written; what is wrong with them is for the tool's schema to say."""
    found = read(json.dumps(said, ensure_ascii=False))

    assert isinstance(found, Act)
    assert [(name, arguments)] == [(call.name, call.arguments) for call in found.calls]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        pytest.param('{"final_answer": "yes"}', "yes", id="plain"),
        pytest.param('```json\n{"final_answer": "yes"}\n```', "yes", id="fenced"),
        pytest.param('Here you are: {"final_answer": "yes"}', "yes", id="after words"),
        pytest.param('{"tool_call": null, "final_answer": "yes"}', "yes", id="null call"),
        pytest.param('{"final_answer": {"a": [1]}}', '{"a": [1]}', id="an object is shown as JSON"),
        pytest.param('{"final_answer": 0}', "0", id="zero is an answer"),
        pytest.param('{"final_answer": ""}', "", id="empty"),
    ],
)
def test_a_final_answer_is_read(text: str, answer: str) -> None:
    """The answer is text, whatever the model made of it."""
    assert Conclude(text=answer) == read(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("I think so", "", id="no JSON"),
        pytest.param("[1, 2]", "not a JSON object", id="a list"),
        pytest.param('{"answer": "yes"}', "neither a 'tool_call' with a name nor a 'final_answer'", id="other keys"),
        pytest.param('{"tool_call": "add"}', "neither", id="a call without a name"),
        pytest.param('{"tool_call": {"name": 7}}', "neither", id="a name that is none"),
        pytest.param('{"final_answer": null}', "neither", id="a null answer"),
        pytest.param('{"name": "add", "arguments": {}, "why": "so"}', "neither", id="what only looks like a bare call"),
        pytest.param('{"tool_call": {"name": "add", "arguments": {"a": 1', "", id="cut off"),
    ],
)
def test_what_is_not_in_the_dialect_is_garbled(text: str, why: str) -> None:
    """The model is told what was wrong; a call that was cut off is never completed."""
    found = read(text)

    assert isinstance(found, Garbled)
    assert found.why
    assert why in found.why


def test_reasoning_is_its_own_or_the_models() -> None:
    """The `reasoning` field counts; where it is empty, the model's private thinking does."""
    assert "mine" == getattr(read('{"reasoning": "mine", "final_answer": "x"}', "private"), "reasoning", None)
    assert "private" == getattr(read('{"reasoning": "", "final_answer": "x"}', "private"), "reasoning", None)
    assert "private" == getattr(read('{"tool_call": {"name": "add"}}', "private"), "reasoning", None)


def test_tools_are_described_in_the_system_prompt() -> None:
    """Each tool in full: name, description and schema."""
    told = JsonDialect({}).instructions([SPEC])

    assert "- add: Add two numbers." in told
    assert json.dumps(SPEC.parameters) in told


@pytest.mark.parametrize(
    ("abilities", "has_format", "has_schema"),
    [
        pytest.param({"json_schema": True, "json_mode": True}, True, True, id="schema"),
        pytest.param({"json_mode": True}, True, False, id="any object"),
        pytest.param({}, False, False, id="words"),
    ],
)
def test_the_request_uses_what_the_model_can(abilities: Abilities, has_format: bool, has_schema: bool) -> None:
    """An enforced schema before an object, an object before words; tools never travel natively."""
    request = asked(abilities)

    assert () == request.tools
    assert has_format == (request.response_format is not None)
    assert has_schema == (request.response_format is not None and request.response_format.schema is not None)


@pytest.mark.parametrize(
    ("said", "free", "bound"),
    [
        pytest.param({"tool_call": {"name": "add", "arguments": {"a": 1}}}, True, False, id="a call"),
        pytest.param({"reasoning": "r", "final_answer": "x"}, True, True, id="an answer"),
        pytest.param({"tool_call": {"name": "add", "arguments": {}}}, False, False, id="wrong arguments"),
        pytest.param({"tool_call": {"name": "sub", "arguments": {"a": 1}}}, False, False, id="unknown tool"),
        pytest.param({"reasoning": "r"}, False, False, id="neither"),
    ],
)
def test_the_schema_says_what_the_dialect_reads(said: Json, free: bool, bound: bool) -> None:
    """It allows exactly what can be acted on, and only an answer where the model may not act."""
    for may_act, fits in ((True, free), (False, bound)):
        wanted = asked({"json_schema": True}, may_act=may_act).response_format
        assert wanted is not None
        assert wanted.schema is not None
        assert fits == jsonschema.Draft202012Validator(wanted.schema).is_valid(said)


def test_observations_are_user_messages() -> None:
    """What came back is read as a message of the user, under the tool's name, with its origins."""
    seen = Observation(call_id="call", name="add", text="2", origins=("tool:add",))

    assert (UserMessage(text="Observation from add:\n2", call_id="call", origins=("tool:add",)),) == JsonDialect({}).observed(
        [seen]
    )


def test_the_transcript_keeps_the_reply_as_written() -> None:
    """The model reads its own words again, not our reading of them."""
    reply = Reply(text='{"final_answer": "x"}', reasoning="private", opaque="{}")

    assert AssistantMessage(text=reply.text, reasoning="private", opaque="{}") == JsonDialect({}).said(reply)


ACT = '{"tool_call": {"name": "add"}}'


@pytest.mark.parametrize(
    ("text", "own"),
    [
        pytest.param(f'{ACT}\nObservation: 5\n{{"final_answer": "5"}}', ACT, id="a made-up observation"),
        pytest.param(f"{ACT}\n\n  Observation from add: 5", ACT, id="in our words"),
        pytest.param(f"So:\n{ACT}\nObservation: 5", f"So:\n{ACT}", id="after words"),
        pytest.param(f"Observation from add:\n5\n{ACT}", None, id="what was read before, repeated"),
        pytest.param(f"{ACT}\nObservations take time.", None, id="another word"),
        pytest.param('{"final_answer": "a\\nObservation: b"}', None, id="in an answer"),
        pytest.param("I think so.\nObservation: none", None, id="no object at all"),
        pytest.param(ACT, None, id="a clean reply"),
    ],
)
def test_what_a_model_makes_up_is_cut(text: str, own: str | None) -> None:
    """From the first observation on that follows an object: only we say what was observed. All else stays."""
    reply = Reply(text=text)

    meant = JsonDialect({}).meant(reply, [SPEC])

    assert (meant is reply) if own is None else (own == meant.text)


def test_a_whole_beginning_is_not_cut_off() -> None:
    """A model that goes on inventing until its tokens are used up has said the first part to its end."""
    meant = JsonDialect({}).meant(Reply(text=f"{ACT}\nObservation: 5\nand then", finish="length"), [SPEC])

    assert (ACT, "stop") == (meant.text, meant.finish)
