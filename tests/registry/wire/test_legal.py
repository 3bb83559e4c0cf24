"""The gate that every transcript passes."""

import pytest

from registry.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from registry.wire.legal import IllegalRequest, legal

SYSTEM, USER, SAYS = SystemMessage(text="s"), UserMessage(text="u"), AssistantMessage(text="a")


def calls(*ids: str) -> AssistantMessage:
    return AssistantMessage(text="", calls=tuple(ToolCall(id=name, name="t", arguments="{}") for name in ids))


def result(name: str) -> ToolMessage:
    return ToolMessage(call_id=name, name="t", text="r")


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([USER], id="user only"),
        pytest.param([SYSTEM, USER, SAYS, USER], id="conversation"),
        pytest.param([USER, USER], id="two users"),
        pytest.param([USER, calls("1", "2"), result("1"), result("2"), SAYS], id="two calls"),
        pytest.param([USER, calls("1", "2"), result("2"), result("1")], id="results in another order"),
        pytest.param([USER, calls("1"), result("1"), calls("1"), result("1")], id="an id again, later"),
    ],
)
def test_legal(messages: list[Message]) -> None:
    """A transcript that every provider takes passes, and its calls are told, in their order."""
    assert [call for message in messages if isinstance(message, AssistantMessage) for call in message.calls] == legal(messages)


@pytest.mark.parametrize(
    ("messages", "place", "why"),
    [
        pytest.param([], 0, "no message", id="empty"),
        pytest.param([USER, SYSTEM], 1, "after the head", id="system later"),
        pytest.param([SYSTEM, SYSTEM], 1, "after the head", id="two systems"),
        pytest.param([USER, result("1")], 1, "do not await", id="orphan"),
        pytest.param([USER, calls("1")], 1, "results are due after it: '1'", id="no result at the end"),
        pytest.param([USER, calls("1", "2"), result("1")], 2, "due after it: '2'", id="one result missing"),
        pytest.param([USER, calls("1"), USER, result("1")], 2, "user message where results are due", id="something between"),
        pytest.param([USER, calls("1"), result("1"), result("1")], 3, "do not await", id="two results"),
        pytest.param([USER, calls("1"), result("2")], 2, "'2'", id="the wrong result"),
        pytest.param([USER, calls("1", "1"), result("1")], 1, "two calls with one id", id="one id twice"),
        pytest.param(
            [USER, calls("1"), calls("2"), result("1"), result("2")], 2, "where results are due", id="calls after calls"
        ),
    ],
)
def test_illegal(messages: list[Message], place: int, why: str) -> None:
    """Anything else is refused, and the error names the place and the reason."""
    with pytest.raises(IllegalRequest, match=why) as caught:
        legal(messages)
    assert place == caught.value.place
