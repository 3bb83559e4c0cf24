"""The bytes of a request."""

import orjson
import pytest
from msgspec.structs import replace

from registry.messages import (
    AssistantMessage,
    Json,
    Message,
    Request,
    ResponseFormat,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from registry.wire.lower import lower
from registry.wire.rules import COMPATIBLE, LLAMA_CPP, OPENAI, WireRules

USER = UserMessage(text="hi")
ADD = ToolSpec(name="add", description="Adds.", parameters={"type": "object", "properties": {"a": {"type": "number"}}})
SUB = ToolSpec(name="sub", description="Subtracts.", parameters={"type": "object"})
WIRE_ADD = {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": ADD.parameters}}
WIRE_SUB = {"type": "function", "function": {"name": "sub", "description": "Subtracts.", "parameters": SUB.parameters}}


def body(request: Request, rules: WireRules = COMPATIBLE, *, stream: bool = False) -> dict[str, Json]:
    value: dict[str, Json] = orjson.loads(lower(request, model="m", rules=rules, stream=stream))
    return value


def said(*messages: Message, rules: WireRules = COMPATIBLE) -> list[Json]:
    messages_on_wire: list[Json] = body(Request(messages=messages), rules)["messages"]
    return messages_on_wire


def call(arguments: str) -> ToolCall:
    return ToolCall(id="1", name="add", arguments=arguments)


def wire_call(arguments: str) -> Json:
    return {"id": "1", "type": "function", "function": {"name": "add", "arguments": arguments}}


def test_a_plain_request_is_short() -> None:
    """What is not asked for is not sent."""
    assert {"model": "m", "messages": [{"role": "user", "content": "hi"}]} == body(Request(messages=(USER,)))


@pytest.mark.parametrize(
    ("message", "wire"),
    [
        pytest.param(SystemMessage(text="s"), {"role": "system", "content": "s"}, id="system"),
        pytest.param(UserMessage(text="u", pinned=True), {"role": "user", "content": "u"}, id="user"),
        pytest.param(AssistantMessage(text="a"), {"role": "assistant", "content": "a"}, id="assistant"),
        pytest.param(
            AssistantMessage(text="", calls=(call('{"a": 1}'),)),
            {"role": "assistant", "content": None, "tool_calls": [wire_call('{"a": 1}')]},
            id="calls without text: null",
        ),
        pytest.param(
            AssistantMessage(text="a", calls=(call('{"a": '),)),
            {"role": "assistant", "content": "a", "tool_calls": [wire_call('{"unreadable":"{\\"a\\": "}')]},
            id="arguments that are no JSON object are wrapped",
        ),
        pytest.param(
            ToolMessage(call_id="1", name="add", text="3"), {"role": "tool", "tool_call_id": "1", "content": "3"}, id="result"
        ),
        pytest.param(UserMessage(text="a\ud83db"), {"role": "user", "content": "a\ufffdb"}, id="half a character"),
    ],
)
def test_messages(message: Message, wire: Json) -> None:
    """Each kind of message has one wire form."""
    assert [wire] == said(message)


@pytest.mark.parametrize(
    ("extra", "more", "within"),
    [
        pytest.param("", {}, {}, id="nothing"),
        pytest.param('{"extra_content":{"google":{"s":"AbC="}}}', {"extra_content": {"google": {"s": "AbC="}}}, {}, id="beside"),
        pytest.param('{"a":null,"function":{"b":[0.5]}}', {"a": None}, {"b": [0.5]}, id="within"),
    ],
)
def test_what_only_the_endpoint_understands_goes_back(extra: str, more: Json, within: Json) -> None:
    """What came with a call beyond the protocol is sent with it, where it came; not to endpoints that refuse it."""
    message = AssistantMessage(text="", calls=(replace(call("{}"), extra=extra),))
    plain: Json = wire_call("{}")

    (sent,) = said(message)
    assert [{**plain, **more, "function": {**plain["function"], **within}}] == sent["tool_calls"]
    (without,) = said(message, rules=WireRules(name="strict", call_extras=False))
    assert [plain] == without["tool_calls"]


def test_long_numbers_go_back_exactly() -> None:
    """A number of any length that came with a call is sent as it came."""
    message = AssistantMessage(text="", calls=(replace(call("{}"), extra='{"n":123456789012345678901234567890}'),))

    assert b'"n":123456789012345678901234567890' in lower(Request(messages=(message,)), model="m", rules=COMPATIBLE)


def test_what_another_protocol_wants_back_is_not_sent() -> None:
    """Signed thoughts of another kind of endpoint mean nothing here."""
    assert [{"role": "assistant", "content": "a"}] == said(AssistantMessage(text="a", opaque='{"of":"https://y"}'))


def test_empty_turns_are_left_out() -> None:
    """An assistant's turn with neither text nor calls would be refused, and says nothing."""
    assert [{"role": "user", "content": "hi"}] == said(USER, AssistantMessage(text="", reasoning="hm"))


def test_reasoning_goes_back_only_where_it_is_demanded() -> None:
    """The field is the row's; without one, no reasoning is sent."""
    message = AssistantMessage(text="a", reasoning="hm")
    echoing = WireRules(name="echoing", reasoning_field="reasoning_content")

    assert [{"role": "assistant", "content": "a"}] == said(message)
    assert [{"role": "assistant", "content": "a", "reasoning_content": "hm"}] == said(message, rules=echoing)


def test_neighbours_of_one_side_are_one_turn_where_turns_must_alternate() -> None:
    """Texts are joined, empty turns between them do not count, and calls stay with their results."""
    told = ToolMessage(call_id="1", name="add", text="3")
    asked = AssistantMessage(text="", calls=(call("{}"),), reasoning="hm")
    said_twice = (USER, AssistantMessage(text=""), USER, AssistantMessage(text="a"), asked, told, USER)
    alternating = WireRules(name="alternating", alternating=True)

    assert [
        {"role": "user", "content": "hi\n\nhi"},
        {"role": "assistant", "content": "a", "tool_calls": [wire_call("{}")]},
        {"role": "tool", "tool_call_id": "1", "content": "3"},
        {"role": "user", "content": "hi"},
    ] == said(*said_twice, rules=alternating)


UNFORCED = WireRules(name="unforced", tool_choice=False)


@pytest.mark.parametrize(
    ("choice", "rules", "wire"),
    [
        pytest.param("auto", COMPATIBLE, {"tools": [WIRE_ADD, WIRE_SUB]}, id="auto"),
        pytest.param("none", COMPATIBLE, {"tools": [WIRE_ADD, WIRE_SUB], "tool_choice": "none"}, id="none"),
        pytest.param("required", COMPATIBLE, {"tools": [WIRE_ADD, WIRE_SUB], "tool_choice": "required"}, id="required"),
        pytest.param(
            "sub",
            OPENAI,
            {"tools": [WIRE_ADD, WIRE_SUB], "tool_choice": {"type": "function", "function": {"name": "sub"}}},
            id="by name",
        ),
        pytest.param("sub", LLAMA_CPP, {"tools": [WIRE_SUB], "tool_choice": "required"}, id="by name, where names are no choice"),
        pytest.param("sub", UNFORCED, {"tools": [WIRE_SUB]}, id="by name, where there is no choice"),
        pytest.param("required", UNFORCED, {"tools": [WIRE_ADD, WIRE_SUB]}, id="required, where there is no choice"),
        pytest.param("none", UNFORCED, {}, id="none, where there is no choice"),
    ],
)
def test_tool_choice(choice: str, rules: WireRules, wire: dict[str, Json]) -> None:
    """The choice is said in the way that the endpoint understands."""
    sent = body(Request(messages=(USER,), tools=(ADD, SUB), tool_choice=choice), rules)

    assert wire == {key: sent[key] for key in sent if key.startswith("tool")}


CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
COUNTS = {"type": "object", "additionalProperties": {"type": "integer"}}


@pytest.mark.parametrize(
    ("wanted", "wire"),
    [
        pytest.param(ResponseFormat(), {"type": "json_object"}, id="any object"),
        pytest.param(
            ResponseFormat(name="n", schema=CLOSED),
            {"type": "json_schema", "json_schema": {"name": "n", "schema": CLOSED, "strict": True}},
            id="strict where strict mode can say it",
        ),
        pytest.param(
            ResponseFormat(name="n", schema={**CLOSED, "properties": {"a": COUNTS}}),
            {
                "type": "json_schema",
                "json_schema": {"name": "n", "schema": {**CLOSED, "properties": {"a": COUNTS}}, "strict": False},
            },
            id="a map inside is beyond strict mode",
        ),
        pytest.param(
            ResponseFormat(name="n", schema={**CLOSED, "required": []}),
            {"type": "json_schema", "json_schema": {"name": "n", "schema": {**CLOSED, "required": []}, "strict": False}},
            id="so is an optional property",
        ),
    ],
)
def test_response_format(wanted: ResponseFormat, wire: Json) -> None:
    """A schema is sent unchanged; strictness only where it changes nothing."""
    assert wire == body(Request(messages=(USER,), response_format=wanted))["response_format"]


@pytest.mark.parametrize(
    ("rules", "name"),
    [pytest.param(OPENAI, "max_completion_tokens", id="openai"), pytest.param(LLAMA_CPP, "max_tokens", id="llama")],
)
def test_limits(rules: WireRules, name: str) -> None:
    """The token cap has the row's name; a temperature of zero is sent."""
    sent = body(Request(messages=(USER,), max_tokens=5, temperature=0.0), rules)

    assert (5, 0.0) == (sent[name], sent["temperature"])


def test_what_an_endpoint_does_not_take() -> None:
    """A cap is lowered to the row's largest; temperature, schema and the system's role are done without."""
    modest = WireRules(name="modest", most_tokens=9, temperature=False, schema_format=False, system_role=False)
    wanted = ResponseFormat(schema=CLOSED)
    request = Request(messages=(SystemMessage(text="s"), USER), max_tokens=99, temperature=0.5, response_format=wanted)

    sent = body(request, modest)

    assert {"model", "max_tokens", "response_format", "messages"} == sent.keys()
    assert (9, {"type": "json_object"}) == (sent["max_tokens"], sent["response_format"])
    assert [{"role": "user", "content": "s\n\nhi"}] == sent["messages"]
    assert 5 == body(Request(messages=(USER,), max_tokens=5), modest)["max_tokens"]
    assert [{"role": "user", "content": "s"}, {"role": "assistant", "content": "a"}] == said(
        SystemMessage(text="s"), AssistantMessage(text="a"), rules=modest
    )


def test_streams_ask_for_usage() -> None:
    """A streamed request asks for usage where the row allows it."""
    request = Request(messages=(USER,))

    assert {"include_usage": True} == body(request, stream=True)["stream_options"]
    silent = body(request, WireRules(name="silent", stream_usage=False), stream=True)
    assert {"model", "messages", "stream"} == silent.keys()


def test_each_lap_extends_the_one_before() -> None:
    """With the same settings the bytes of a lap are a prefix of the next lap's, so that prompt caches hold."""
    first = Request(messages=(USER, AssistantMessage(text="a")), tools=(ADD,), temperature=0.5)
    second = Request(messages=(*first.messages, UserMessage(text="more")), tools=(ADD,), temperature=0.5)

    earlier, later = (lower(request, model="m", rules=COMPATIBLE) for request in (first, second))

    assert later.startswith(earlier.removesuffix(b"]}"))
