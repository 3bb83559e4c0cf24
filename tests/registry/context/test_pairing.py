"""Calls and their results belong together."""

import pytest

from registry.context import NO_RESULT, repaired, units
from registry.messages import AssistantMessage, Message, UserMessage
from tests.registry.context.messages import GOAL, SYSTEM, asking, observed, result


@pytest.mark.parametrize(
    ("messages", "whole"),
    [
        pytest.param([asking("1")], (asking("1"), None), id="call-without-result"),
        pytest.param([GOAL, result("9")], (GOAL,), id="result-without-call"),
        pytest.param([asking("1", "2"), result("2")], (asking("1", "2"), None, result("2")), id="one-of-two"),
        pytest.param([asking("1"), GOAL, result("1")], (asking("1"), result("1"), GOAL), id="result-elsewhere"),
        pytest.param(
            [asking("1", "2"), result("2"), result("1")], (asking("1", "2"), result("1"), result("2")), id="out-of-order"
        ),
        pytest.param([asking("1"), result("1"), result("1")], (asking("1"), result("1")), id="result-twice"),
        pytest.param([GOAL, observed("1")], (GOAL, observed("1")), id="a-message-of-the-user's-is-no-orphan"),
    ],
)
def test_orphans_are_repaired(messages: list[Message], whole: tuple[Message | None, ...]) -> None:
    """Every call is directly followed by its one result, in call order; one that never came says so."""
    came = repaired(messages)

    assert [message or NO_RESULT for message in whole] == [
        message.text if message.text == NO_RESULT else message for message in came
    ]


def test_what_is_whole_is_not_copied() -> None:
    """The same tuple comes back."""
    messages = (SYSTEM, GOAL, asking("1"), result("1"))

    assert messages is repaired(messages)


@pytest.mark.parametrize(
    "round",
    [
        pytest.param((asking("1", "2"), result("1"), result("2")), id="native"),
        pytest.param((AssistantMessage(text="{}"), observed("1")), id="json"),
    ],
)
def test_a_call_and_its_results_are_one_unit(round: tuple[Message, ...]) -> None:
    """In both dialects; what a user says is a unit of its own."""
    after = UserMessage(text="go on")

    assert [(SYSTEM,), (GOAL,), round, (after,), round] == units((SYSTEM, GOAL, *round, after, *round))
