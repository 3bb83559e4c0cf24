"""The provider's own tool calls."""

import pytest

from orchestrator.dialects import Act, Conclude, JsonDialect, Native, dialect_for
from registry.messages import AssistantMessage, Reply, ToolCall, ToolMessage, ToolSpec, UserMessage
from registry.tools.tool import Observation

SPEC = ToolSpec(name="add", description="Add.", parameters={"type": "object"})
CALLS = (ToolCall(id="1", name="add", arguments="{}"), ToolCall(id="2", name="add", arguments='{"a": 1}'))


def test_tools_travel_in_the_request() -> None:
    """The system prompt needs no word about tools; where the model may not act they stay, and the choice is none."""
    messages = (UserMessage(text="go"),)

    assert "" == Native().instructions([SPEC])
    free, bound = (Native().request(messages, (SPEC,), may_act=may_act) for may_act in (True, False))
    assert ((SPEC,), "auto") == (free.tools, free.tool_choice)
    assert ((SPEC,), "none") == (bound.tools, bound.tool_choice)
    assert messages == free.messages
    assert free.response_format is None


def test_calls_are_acted_on() -> None:
    """A reply with calls asks for all of them, whatever it says besides; one without is the answer."""
    assert Act(calls=CALLS, reasoning="because") == Native().read(Reply(text="let me", calls=CALLS, reasoning="because"))
    assert Conclude(text="done", reasoning="because") == Native().read(Reply(text="done", reasoning="because"))
    assert Conclude(text="") == Native().read(Reply())


def test_the_transcript_keeps_what_was_said() -> None:
    """Text, calls, reasoning and what only the endpoint understands are all kept, apart."""
    said = Native().said(Reply(text="let me", calls=CALLS, reasoning="because", opaque="{}"))

    assert AssistantMessage(text="let me", calls=CALLS, reasoning="because", opaque="{}") == said


def test_observations_are_tool_messages() -> None:
    """One for each call, in order, with its id and its origins."""
    seen = [
        Observation(call_id="1", name="add", text="2", origins=("tool:add",)),
        Observation(call_id="2", name="add", text="error: no", error="BadArguments"),
    ]

    assert (
        ToolMessage(call_id="1", name="add", text="2", origins=("tool:add",)),
        ToolMessage(call_id="2", name="add", text="error: no"),
    ) == Native().observed(seen)


@pytest.mark.parametrize(
    ("abilities", "has_tools", "wanted", "dialect"),
    [
        pytest.param({"tool_call": True}, True, True, Native, id="can and wants"),
        pytest.param({"tool_call": True}, True, False, JsonDialect, id="declined"),
        pytest.param({"tool_call": False, "json_mode": True}, True, True, JsonDialect, id="says it can't"),
        pytest.param({}, True, True, JsonDialect, id="nothing known"),
        pytest.param({}, False, True, Native, id="no tools to speak of"),
        pytest.param({}, False, False, Native, id="declined, without tools"),
    ],
)
def test_which_dialect(abilities: dict[str, bool], has_tools: bool, wanted: bool, dialect: type) -> None:
    """Native where the model can and the caller wants it; without tools a plain conversation will do."""
    assert dialect is type(dialect_for(abilities, has_tools=has_tools, use_native_tools=wanted))


WHOLE = '{"name": "add", "arguments": {"a": 1}}'
TYPED = ToolSpec(name="add", description="Add.", parameters={"type": "object", "properties": {"a": {"type": "integer"}}})


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(WHOLE, id="bare"),
        pytest.param(f"\n<tool_call>{WHOLE}</tool_call> ", id="tagged"),
        pytest.param(f"<function_call>\n{WHOLE}\n</function_call>", id="tagged otherwise"),
    ],
)
def test_a_text_that_is_one_call_is_that_call(text: str) -> None:
    """Some models write their call where the answer belongs. It is marked by its id."""
    call = ToolCall(id="call_as_text", name="add", arguments='{"a":1}')

    meant = Native().meant(Reply(text=text, reasoning="because"), [TYPED])

    assert Reply(calls=(call,), finish="tool_calls", reasoning="because") == meant


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(text=f"Use {WHOLE}"), id="in a sentence"),
        pytest.param(Reply(text=f"<tool_call>{WHOLE}</function_call>"), id="tags that do not match"),
        pytest.param(Reply(text=f"<tool_call>{WHOLE}</tool_call><tool_call>{WHOLE}</tool_call>"), id="two calls"),
        pytest.param(Reply(text=WHOLE.replace("add", "sub")), id="an unknown tool"),
        pytest.param(Reply(text=WHOLE.replace("1", '"one"')), id="arguments that do not fit"),
        pytest.param(Reply(text='{"name": "add", "arguments": "{}"}'), id="arguments as text"),
        pytest.param(Reply(text="[1]"), id="a list"),
        pytest.param(Reply(text=WHOLE, finish="length"), id="cut off"),
        pytest.param(Reply(text=WHOLE, calls=CALLS), id="beside calls"),
        pytest.param(Reply(text="done"), id="words"),
    ],
)
def test_anything_else_is_meant_as_it_stands(reply: Reply) -> None:
    """A call is recovered where there is no doubt, and nowhere else."""
    assert reply is Native().meant(reply, [TYPED])
