"""What a call is, by content alone."""

import pytest
from msgspec.structs import replace

from orchestrator.events.facts import SCHEMA
from orchestrator.keys import Digests, tool_digest
from registry.digests import digest
from registry.messages import (
    AssistantMessage,
    Message,
    Request,
    ResponseFormat,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)


def spec(**changed: object) -> ToolSpec:
    facts: dict[str, object] = {"name": "add", "description": "Add.", "parameters": {"type": "object"}}
    return ToolSpec(**(facts | changed))


def request_digest(request: Request) -> str:
    return Digests().of(request)


def asked(call_id: str = "call_1", **changed: object) -> Request:
    """A request whose parts are all made anew."""
    call = ToolCall(id=call_id, name="add", arguments='{"a": 1}')
    messages = (
        SystemMessage(text="be brief"),
        UserMessage(text="add"),
        AssistantMessage(text="", calls=(call,)),
        ToolMessage(call_id=call_id, name="add", text="2"),
    )
    return replace(Request(messages=messages, tools=(spec(),)), **changed)


def test_equal_content_has_an_equal_digest() -> None:
    """Two requests that say the same are the same, though no object is shared and the provider's call ids differ."""
    assert request_digest(asked()) == request_digest(asked("call_77"))


def test_what_was_asked_before_makes_no_difference() -> None:
    """The requests of one conversation have the digests that each has alone, whatever they share with the one before."""
    digests, first = Digests(), asked()
    answer, twice = AssistantMessage(text="2"), UserMessage(text="again")
    requests = [
        first,
        replace(first, messages=(*first.messages, answer, twice, twice)),
        replace(first, messages=(SystemMessage(text="be kind"), *first.messages[1:], twice)),
        replace(first, messages=(SystemMessage(text="be kind"), *first.messages[1:], answer, answer)),
        first,
    ]

    assert [request_digest(request) for request in requests] == [digests.of(request) for request in requests]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(asked(messages=(UserMessage(text="add"),)), id="messages"),
        pytest.param(asked(messages=asked().messages[::-1]), id="their order"),
        pytest.param(asked(tools=()), id="no tools"),
        pytest.param(asked(tools=(spec(description="Adds."),)), id="a tool's description"),
        pytest.param(asked(tools=(spec(parameters={"type": "object", "properties": {}}),)), id="a tool's schema"),
        pytest.param(asked(tool_choice="none"), id="tool choice"),
        pytest.param(asked(response_format=ResponseFormat()), id="response format"),
        pytest.param(asked(max_tokens=5), id="max tokens"),
        pytest.param(asked(temperature=0.0), id="temperature"),
    ],
)
def test_whatever_can_change_the_reply_changes_the_digest(other: Request) -> None:
    """Another question is another call."""
    assert request_digest(asked()) != request_digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(UserMessage(text="x"), SystemMessage(text="x"), id="who says it"),
        pytest.param(UserMessage(text="x"), UserMessage(text="x", pinned=True), id="pinned"),
        pytest.param(AssistantMessage(text="x"), AssistantMessage(text="x", reasoning="y"), id="reasoning"),
    ],
)
def test_messages_differ_in_more_than_text(one: UserMessage, other: UserMessage) -> None:
    """The same text said otherwise is another message."""
    assert request_digest(Request(messages=(one,))) != request_digest(Request(messages=(other,)))


def test_what_only_the_endpoint_understands_counts_where_it_is() -> None:
    """A signature makes another message, whether of a call or of the whole; where there is none the digest knows of none."""
    plain, signed = (AssistantMessage(text="x", opaque=opaque) for opaque in ("", "{}"))
    unsigned_call, signed_call = (
        AssistantMessage(text="", calls=(ToolCall(id="1", name="add", arguments="{}", extra=extra),)) for extra in ("", "{}")
    )

    digests = [request_digest(Request(messages=(message,))) for message in (plain, signed, unsigned_call, signed_call)]
    assert 4 == len(set(digests))
    said = {"text": "x", "role": "assistant"}
    assert digests[0] == digest([[digest(said)], [], "auto", None, None, None])


def test_formats_differ_by_schema() -> None:
    """Two response formats of one name are two questions when their schemas differ."""
    one, other = ResponseFormat(schema={"type": "object"}), ResponseFormat(schema={"type": "array"})

    assert request_digest(asked(response_format=one)) != request_digest(asked(response_format=other))


def test_a_tool_call_is_its_name_and_arguments() -> None:
    """The provider's id for a call is not part of what the call is."""
    call = ToolCall(id="1", name="add", arguments='{"a": 1}')

    assert tool_digest(call) == tool_digest(replace(call, id="2"))
    assert tool_digest(call) != tool_digest(replace(call, name="sub"))
    assert tool_digest(call) != tool_digest(replace(call, arguments='{"a": 2}'))


def test_a_lone_surrogate_has_a_digest() -> None:
    """Text that no UTF-8 can hold is still a message."""
    assert request_digest(Request(messages=(UserMessage(text="\ud800"),)))


def test_digests_stay_as_they_are() -> None:
    """A run of today's journal finds its finished calls in tomorrow's version. Whoever changes a digest raises `facts.SCHEMA`."""
    messages = (
        SystemMessage(text="s"),
        UserMessage(text="u", pinned=True),
        AssistantMessage(text="", calls=(ToolCall(id="c1", name="t", arguments="{}"),)),
        ToolMessage(call_id="c1", name="t", text="r", origins=("tool:t",)),
    )
    tools = (ToolSpec(name="t", description="d", parameters={"type": "object"}),)

    assert 1 == SCHEMA
    assert "afc08ed8dfdcb0d25bbe418b257f143c" == request_digest(Request(messages=messages, tools=tools, max_tokens=9))
    assert "79dd86e0a68f29920b4ae007d6b36082" == tool_digest(ToolCall(id="x", name="t", arguments="{}"))


@pytest.mark.parametrize(
    ("message", "known"),
    [
        pytest.param(SystemMessage(text="s"), "bdede28ec58de3febb1f24a9b28e77ad", id="system"),
        pytest.param(UserMessage(text=""), "b59a6c38a66d940e916d73caa634192f", id="nothing"),
        pytest.param(UserMessage(text="u", origins=("tool:a", "tool:b")), "43982496f089b0c1f1f9db72467e2213", id="user"),
        pytest.param(UserMessage(text="u", pinned=True), "bd8c68ae4dac4dfbf7f4b09a813edde4", id="pinned"),
        pytest.param(UserMessage(text="u", call_id="c1"), "0841eadd00fae31b090716254b034049", id="observation"),
        pytest.param(
            AssistantMessage(text="a", reasoning="r", opaque="{}", origins=("tool:t",)),
            "efacd55d5659fc99e597dfe249470c2b",
            id="assistant",
        ),
        pytest.param(
            AssistantMessage(
                text="",
                calls=(
                    ToolCall(id="c", name="t", arguments='{"a": 1}', extra='{"s": "x"}'),
                    ToolCall(id="", name="n", arguments=""),
                ),
            ),
            "ab4f91a66d5bc6945d5b0755adde15bf",
            id="calls",
        ),
        pytest.param(
            ToolMessage(call_id="c", name="t", text="r", origins=("tool:t",)), "347782629396726f0fc362b171500d06", id="result"
        ),
        pytest.param(ToolMessage(call_id="", name="", text=""), "0d6d634c861f5f1559af0a8c7e22167f", id="empty result"),
    ],
)
def test_the_digest_of_each_kind_of_message_stays_as_it_is(message: Message, known: str) -> None:
    """Whatever a message has in it: a journal of yesterday knows it by this."""
    assert known == request_digest(Request(messages=(message,)))


def test_the_digest_of_everything_else_stays_as_it_is() -> None:
    """Tools in their order, a message that is said twice, and how the reply is to be."""
    said = SystemMessage(text="s")
    tools = tuple(ToolSpec(name=name, description=f"d{name}", parameters={"type": "object"}) for name in "tu")
    wanted = ResponseFormat(name="n", schema={"type": "object"})

    assert "9c3ec27b2d4a8e48c5b014589fae1e43" == request_digest(Request(messages=(said, said)))
    assert "d803006c389121278bda29f96ea9deeb" == request_digest(Request(messages=(said,), tools=tools))
    assert "b46137e4048ab0091b5e1c5a688229f2" == request_digest(Request(messages=(said,), tools=tools[::-1]))
    assert "45cadb79b797050a62172a4d69111b31" == request_digest(
        Request(messages=(), tool_choice="t", response_format=wanted, max_tokens=3, temperature=0.5)
    )
