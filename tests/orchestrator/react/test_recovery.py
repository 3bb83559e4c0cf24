"""What is done about replies that are empty or were cut off."""

import pytest

from orchestrator.react.recovery import CONTINUE_LIMIT, EMPTY_LIMIT, Recovery, fault_of, stopped
from registry.messages import AssistantMessage, Finish, Reply, ToolCall
from registry.usage import Usage

CALL = ToolCall(id="1", name="send", arguments='{"text": "par')


def reply(text: str = "", finish: Finish = "stop", *calls: ToolCall) -> Reply:
    return Reply(text=text, finish=finish, calls=calls)


@pytest.mark.parametrize(
    "good",
    [
        pytest.param(reply("done"), id="text"),
        pytest.param(reply("", "tool_calls", CALL), id="calls"),
        pytest.param(reply("", "refused"), id="a refusal is an answer"),
    ],
)
def test_a_good_reply_is_left_alone(good: Reply) -> None:
    """What can be used, or can't be helped, is not asked for again."""
    assert () == Recovery().again(good)


def test_an_empty_reply_is_asked_for_again() -> None:
    """Nothing, or nothing but space, is asked for again within the limit."""
    recovery = Recovery()

    asked = [bool(recovery.again(reply(" \n"))) for _ in range(EMPTY_LIMIT + 1)]

    assert [True] * EMPTY_LIMIT + [False] == asked


def test_a_cut_reply_is_continued() -> None:
    """The model reads what it wrote and goes on; the parts become one text."""
    recovery = Recovery()
    first, last = reply("one ", "length"), reply("two")

    said, told = recovery.again(first)

    assert AssistantMessage(text="one ") == said
    assert "Go on exactly where it ended" in told.text
    assert reply("one two") == recovery.whole(last)
    assert () == recovery.again(last)


def test_continuing_ends() -> None:
    """After the limit a reply that is still cut off is what it is."""
    recovery = Recovery()

    asked = [bool(recovery.again(reply("x", "length"))) for _ in range(CONTINUE_LIMIT + 1)]

    assert [True] * CONTINUE_LIMIT + [False] == asked
    assert "x" * CONTINUE_LIMIT + "y" == recovery.whole(reply("y")).text


def test_all_causes_count_together() -> None:
    """Empty and cut replies share one limit."""
    recovery = Recovery()
    causes = [reply(), reply(), reply("x", "length"), reply("y", "length")]

    assert [True, True, True, False] == [bool(recovery.again(cause)) for cause in causes]


@pytest.mark.parametrize(
    "cut",
    [pytest.param(reply("", "length", CALL), id="in a call"), pytest.param(reply("", "length"), id="before it began")],
)
def test_what_can_not_be_continued_is_said_again(cut: Reply) -> None:
    """A call that was cut off is never finished by us: the model says it again, shorter."""
    recovery = Recovery()

    (told,) = recovery.again(cut)

    assert "shorter" in told.text
    assert "whole" == recovery.whole(reply("whole")).text


def test_what_can_not_be_gone_on_with_is_said_again() -> None:
    """Half an object is no beginning: nothing of it is kept, and a shorter one is asked for."""
    recovery = Recovery(continues=False)

    (told,) = recovery.again(reply('{"reasoning": "so', "length"))

    assert "shorter" in told.text
    assert "whole" == recovery.whole(reply("whole")).text


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        pytest.param(reply("done"), None, id="text"),
        pytest.param(reply("", "tool_calls", CALL), None, id="a call"),
        pytest.param(reply("", "refused"), None, id="a refusal"),
        pytest.param(reply(" \n"), "empty", id="space"),
        pytest.param(reply("x", "length"), "truncated", id="cut off"),
        pytest.param(reply("", "length", CALL), "truncated", id="cut off in a call"),
    ],
)
def test_what_is_wrong_with_a_reply(said: Reply, fault: str | None) -> None:
    """A reply can't be used when there is nothing in it, or when it has no end."""
    assert fault == fault_of(said)


@pytest.mark.parametrize(
    ("cap", "reasoned", "why"),
    [
        pytest.param(100, 0, "it reached the cap of 100 tokens", id="our cap"),
        pytest.param(None, 0, "it reached the model's own limit", id="no cap"),
        pytest.param(100, 90, "it reached the cap of 100 tokens, 90 tokens of it reasoning", id="reasoning"),
    ],
)
def test_why_a_reply_has_no_end(cap: int | None, reasoned: int, why: str) -> None:
    """The error tells which limit was reached, and how much of it reasoning took."""
    cut = Reply(text="x", finish="length", usage=Usage(requests=1, reasoning_tokens=reasoned))
    error = stopped("truncated", cut, cap, instead="")

    assert ("truncated", why) == (error.outcome, error.why)


@pytest.mark.parametrize(
    ("instead", "why"),
    [
        pytest.param("", "", id="nothing else"),
        pytest.param("the disk is full", "what it said in an earlier turn stands in its place", id="earlier words"),
    ],
)
def test_why_there_is_no_answer(instead: str, why: str) -> None:
    """Where earlier words have to do for an answer, the error says so."""
    error = stopped("empty", reply(), None, instead=instead)

    assert ("empty", why) == (error.outcome, error.why)
