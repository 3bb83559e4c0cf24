"""About how many tokens a request takes."""

import pytest

from registry.context import estimate_tokens, request_tokens
from registry.messages import AssistantMessage, ToolCall, ToolSpec
from tests.registry.context.messages import asking


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        pytest.param("", 0, id="empty"),
        pytest.param("abc", 1, id="ascii"),
        pytest.param("abcd", 2, id="rounded-up"),
        pytest.param("привет", 6, id="cyrillic"),
        pytest.param("漢字漢字", 6, id="cjk"),
        pytest.param("🙂", 2, id="emoji"),
        pytest.param("abc漢字", 4, id="mixed"),
        pytest.param("\ud800", 2, id="lone-surrogate"),
    ],
)
def test_the_estimate(text: str, tokens: int) -> None:
    """Three ASCII characters or two bytes of other text make a token."""
    assert tokens == estimate_tokens(text)


def test_everything_that_is_sent_is_counted() -> None:
    """Text, reasoning, arguments and tool schemas all add to the estimate."""
    plain = [AssistantMessage(text="x")]
    bigger = [
        ([AssistantMessage(text="x" * 300)], ()),
        ([AssistantMessage(text="x", reasoning="r" * 300)], ()),
        ([AssistantMessage(text="x", opaque="o" * 300)], ()),
        ([asking("1", text="x", arguments="a" * 300)], ()),
        ([AssistantMessage(text="x", calls=(ToolCall(id="1", name="t", arguments="", extra="e" * 300),))], ()),
        (plain, (ToolSpec(name="t", description="d" * 300, parameters={}),)),
        (plain, (ToolSpec(name="t", description="", parameters={"properties": {"p" * 300: {}}}),)),
    ]

    assert all(request_tokens(plain) + 99 <= request_tokens(messages, tools) for messages, tools in bigger)
