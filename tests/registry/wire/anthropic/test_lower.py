"""Requests as the Messages API reads them."""

from typing import Any

import orjson
import pytest

from registry.errors import Refused
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
from registry.wire.anthropic.lower import lower
from registry.wire.anthropic.thoughts import Thought, kept

CACHED = {"cache_control": {"type": "ephemeral"}}
LOOK = ToolSpec(name="look", description="Looks.", parameters={"type": "object", "properties": {"at": {"type": "string"}}})
BARE = ToolSpec(name="bare", description="", parameters={})
HI = UserMessage(text="hi")
CALL = ToolCall(id="a", name="look", arguments='{"at": 1}')
CALLED = AssistantMessage(text="", calls=(CALL,))
RESULT = ToolMessage(call_id="a", name="look", text="seen")


def lowered(*messages: Message, thinking: int | None = None, stream: bool = False, **fields: Any) -> dict[str, Json]:
    request = Request(messages=messages or (HI,), **fields)
    body = lower(request, model="m", endpoint="https://x", max_output=100, thinking=thinking, stream=stream)
    value: dict[str, Json] = orjson.loads(body)
    return value


def turns(*messages: Message) -> list[tuple[str, list[Json]]]:
    """The turns as they are sent, each block without its mark and its type."""
    said = lowered(*messages)["messages"]
    marked = [block for turn in said for block in turn["content"] if block.pop("cache_control", None)]
    assert [said[-1]["content"][-1]] == marked
    return [(turn["role"], turn["content"]) for turn in said]


def text(said: str) -> Json:
    return {"type": "text", "text": said}


def use(**fields: Json) -> Json:
    return {"type": "tool_use", "id": "a", "name": "look", "input": {"at": 1}, **fields}


def result(**fields: Json) -> Json:
    return {"type": "tool_result", "tool_use_id": "a", **fields}


def test_the_least_that_is_sent() -> None:
    """A question alone is model, cap and one turn, with a mark at its end."""
    expected = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": [{**text("hi"), **CACHED}]}]}

    assert expected == lowered()


def test_settings() -> None:
    """Cap, temperature and stream are sent where they are given."""
    body = lowered(max_tokens=7, temperature=0.0, stream=True)

    assert (7, 0.0, True) == (body["max_tokens"], body["temperature"], body["stream"])


@pytest.mark.parametrize(
    ("said", "system"),
    [
        pytest.param("Be brief.", [{**text("Be brief."), **CACHED}], id="text"),
        pytest.param(" \n", None, id="blank"),
    ],
)
def test_the_system_text_stands_apart(said: str, system: Json) -> None:
    """It is no turn, has a mark of its own, and is left out when it is blank."""
    body = lowered(SystemMessage(text=said), HI)

    assert system == body.get("system")
    assert ["user"] == [turn["role"] for turn in body["messages"]]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([HI, UserMessage(text="there")], [("user", [text("hi"), text("there")])], id="neighbours are one turn"),
        pytest.param(
            [HI, AssistantMessage(text="a"), AssistantMessage(text="b", calls=(CALL,)), RESULT],
            [("user", [text("hi")]), ("assistant", [text("a"), text("b"), use()]), ("user", [result(content="seen")])],
            id="text before calls",
        ),
        pytest.param(
            [HI, CALLED, RESULT, UserMessage(text="and?")],
            [("user", [text("hi")]), ("assistant", [use()]), ("user", [result(content="seen"), text("and?")])],
            id="results come first in their turn",
        ),
        pytest.param(
            [HI, AssistantMessage(text=""), UserMessage(text=" "), UserMessage(text="x")],
            [("user", [text("hi"), text("x")])],
            id="blank texts are left out",
        ),
        pytest.param(
            [HI, CALLED, ToolMessage(call_id="a", name="look", text="")],
            [("user", [text("hi")]), ("assistant", [use()]), ("user", [result()])],
            id="an empty result",
        ),
        pytest.param(
            [HI, AssistantMessage(text="so \n", reasoning="hm")],
            [("user", [text("hi")]), ("assistant", [text("so")])],
            id="no space at the end, no reasoning",
        ),
    ],
)
def test_turns(messages: list[Message], expected: Json) -> None:
    """The two sides take turns, and every block says something."""
    assert expected == turns(*messages)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        pytest.param(ToolCall(id="a", name="look", arguments="{}"), use(input={}), id="none"),
        pytest.param(ToolCall(id="a", name="look", arguments="[1"), use(input={"unreadable": "[1"}), id="no object"),
        pytest.param(ToolCall(id="f:0", name="f", arguments="{}"), use(id="f_3a_0", name="f", input={}), id="odd id"),
    ],
)
def test_calls_of_any_model(call: ToolCall, expected: Json) -> None:
    """What another model wrote becomes something that this API takes, and its result goes with it."""
    _, (_, (block,)), (_, (answer,)) = turns(
        HI, AssistantMessage(text="", calls=(call,)), ToolMessage(call_id=call.id, name=call.name, text="r")
    )

    assert expected == block
    assert block["id"] == answer["tool_use_id"]


def test_long_numbers_stay_exact() -> None:
    """Arguments go back as they were written, with integers of any length."""
    call = ToolCall(id="a", name="look", arguments='{"at": 123456789012345678901234567890}')
    request = Request(messages=(HI, AssistantMessage(text="", calls=(call,)), RESULT))

    assert b"123456789012345678901234567890" in lower(request, model="m", endpoint="https://x", max_output=1)


def test_tools() -> None:
    """Tools have a schema of an object and a mark on the last of them."""
    looks = {"name": "look", "description": "Looks.", "input_schema": LOOK.parameters}
    bare = {"name": "bare", "description": "", "input_schema": {"type": "object"}, **CACHED}

    assert [looks, bare] == lowered(tools=(LOOK, BARE))["tools"]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        pytest.param("auto", None, id="auto"),
        pytest.param("none", {"type": "none"}, id="none"),
        pytest.param("required", {"type": "any"}, id="any"),
        pytest.param("look", {"type": "tool", "name": "look"}, id="named"),
    ],
)
def test_tool_choice(choice: str, expected: Json) -> None:
    """The choice is said in the API's own words."""
    assert expected == lowered(tools=(LOOK,), tool_choice=choice).get("tool_choice")


def test_calls_without_tools() -> None:
    """A transcript with calls that comes without tools names those it called, and lets none be called."""
    body = lowered(HI, CALLED, RESULT)

    assert [{"name": "look", "input_schema": {"type": "object"}}] == body["tools"]
    assert {"type": "none"} == body["tool_choice"]


@pytest.mark.parametrize(
    ("messages", "fields", "thinks"),
    [
        pytest.param([HI], {}, True, id="question"),
        pytest.param([HI], {"tools": (LOOK,)}, True, id="free choice"),
        pytest.param([HI], {"tools": (LOOK,), "tool_choice": "look"}, False, id="named call"),
        pytest.param([HI], {"tools": (LOOK,), "tool_choice": "required"}, False, id="forced call"),
        pytest.param([HI, CALLED, RESULT, UserMessage(text="and?")], {"tools": (LOOK,)}, False, id="amid calls"),
        pytest.param(
            [HI, CALLED, RESULT, AssistantMessage(text=""), HI], {"tools": (LOOK,)}, False, id="an empty turn amid calls"
        ),
        pytest.param([HI, CALLED, RESULT, AssistantMessage(text="so"), HI], {"tools": (LOOK,)}, True, id="after calls"),
    ],
)
def test_thinking(messages: list[Message], fields: dict[str, Any], thinks: bool) -> None:
    """Thinking is asked for where the API allows it, on top of the cap and without a temperature."""
    body = lowered(*messages, thinking=1024, temperature=0.5, **fields)

    assert ({"type": "enabled", "budget_tokens": 1024} if thinks else None) == body.get("thinking")
    assert (1124 if thinks else 100) == body["max_tokens"]
    assert thinks == ("temperature" not in body)


SIGNED: dict[str, Json] = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
HIDDEN: dict[str, Json] = {"type": "redacted_thinking", "data": "ZGF0YQ"}


def thoughtful(*thoughts: Thought, text: str = "", of: str = "https://x", calls: tuple[ToolCall, ...] = (CALL,)) -> Message:
    return AssistantMessage(text=text, calls=calls, opaque=kept(thoughts, of))


def thought(block: dict[str, Json] = SIGNED, text: int = 0, calls: int = 0) -> Thought:
    return Thought(block=block, text=text, calls=calls)


OTHER = ToolCall(id="b", name="look", arguments="{}")
OTHER_RESULT = ToolMessage(call_id="b", name="look", text="r")


@pytest.mark.parametrize(
    ("messages", "thinks"),
    [
        pytest.param([HI, thoughtful(thought()), RESULT], True, id="a thought first"),
        pytest.param([HI, thoughtful(thought()), RESULT, UserMessage(text="and?")], True, id="something added"),
        pytest.param(
            [HI, thoughtful(thought()), RESULT, AssistantMessage(text="", calls=(OTHER,)), OTHER_RESULT],
            True,
            id="further calls without one",
        ),
        pytest.param(
            [HI, CALLED, RESULT, thoughtful(thought(), calls=(OTHER,)), OTHER_RESULT], False, id="only further calls with one"
        ),
        pytest.param(
            [HI, thoughtful(thought()), RESULT, HI, AssistantMessage(text="", calls=(OTHER,)), OTHER_RESULT],
            False,
            id="only earlier calls with one",
        ),
        pytest.param([HI, thoughtful(thought(text=2), text="so"), RESULT], False, id="not at the beginning"),
        pytest.param([HI, thoughtful(thought(), of="https://y"), RESULT], False, id="another endpoint's"),
    ],
)
def test_thinking_amid_calls(messages: list[Message], thinks: bool) -> None:
    """Thinking goes on amid calls where they began with a thought of this endpoint's; where it does not, no thought is sent."""
    body = lowered(*messages, thinking=1024, tools=(LOOK,))
    kinds = {block["type"] for turn in body["messages"] for block in turn["content"]}

    assert thinks == ("thinking" in body)
    assert thinks == ("thinking" in kinds)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(
            thoughtful(thought(), thought(HIDDEN), text="so"), [SIGNED, HIDDEN, text("so"), use()], id="before everything"
        ),
        pytest.param(
            thoughtful(thought(), thought(HIDDEN, text=2), text="so on"),
            [SIGNED, text("so"), HIDDEN, text(" on"), use()],
            id="amid the text",
        ),
        pytest.param(
            thoughtful(thought(), thought(HIDDEN, calls=1), calls=(CALL, OTHER)),
            [SIGNED, use(), HIDDEN, use(id="b", input={})],
            id="between calls",
        ),
        pytest.param(thoughtful(thought(), thought(HIDDEN, calls=1)), [SIGNED, use()], id="nothing after it"),
        pytest.param(thoughtful(thought(), thought(HIDDEN, text=90)), [SIGNED, HIDDEN, use()], id="the text was cut"),
        pytest.param(thoughtful(thought(), of="https://y"), [use()], id="another endpoint's"),
        pytest.param(AssistantMessage(text="", calls=(CALL,), opaque='[{"type":"thinking"}]'), [use()], id="of another shape"),
    ],
)
def test_thoughts_go_back(message: AssistantMessage, expected: list[Json]) -> None:
    """Thoughts are sent as they came, where they stood; those of others, and those that nothing follows, are not."""
    results = [ToolMessage(call_id=call.id, name="look", text="r") for call in message.calls]
    body = lowered(HI, message, *results, AssistantMessage(text="done"), HI, thinking=1024)

    assert expected == body["messages"][1]["content"]


def test_a_turn_of_thoughts_alone_is_left_out() -> None:
    """The API takes no turn that ends with a thought."""
    assert 1 == len(lowered(HI, thoughtful(thought(), calls=()), HI, thinking=1024)["messages"])


def test_what_cannot_be_said() -> None:
    """A response format is refused before anything is sent, in a way that a structured call understands."""
    with pytest.raises(Refused) as caught:
        lowered(response_format=ResponseFormat())
    assert "response_format" == caught.value.parameter


def test_half_characters() -> None:
    """A half character becomes the replacement mark instead of an error."""
    assert [("user", [text("a\ufffd")])] == turns(UserMessage(text="a\ud83d"))


def test_a_lap_begins_with_the_one_before() -> None:
    """But for the mark that moves on, the turns of one lap are the beginning of the next one's."""
    before, after = turns(HI), turns(HI, CALLED, RESULT)

    assert before == after[:1]
