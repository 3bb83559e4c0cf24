"""What is sent fits the window and is legal, and loses as little as may be."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.context import LONGEST_RESULT, Compaction, ContextGuard, repaired, request_tokens, units
from registry.errors import WindowExceeded
from registry.messages import AssistantMessage, Message, SystemMessage, ToolSpec, UserMessage
from registry.wire.legal import legal
from tests.registry.context.messages import (
    GOAL,
    SYSTEM,
    any_transcript,
    asking,
    in_json,
    native,
    observed,
    result,
    results_of,
    some_handles,
)

HANDLES = {f"c{n}": f"look-{n}" for n in range(99)}


@pytest.mark.parametrize(
    ("window", "reserve", "budget"),
    [
        pytest.param(100_000, None, 91_808, id="default"),
        pytest.param(4_000, None, 3_000, id="a-quarter-at-most"),
        pytest.param(4_000, 9_000, 3_000, id="asked-for-too-much"),
        pytest.param(4_000, 100, 3_900, id="asked-for"),
        pytest.param(None, 100, None, id="unknown"),
    ],
)
def test_the_reserve_is_at_most_a_quarter(window: int | None, reserve: int | None, budget: int | None) -> None:
    """The budget is the window without what the reply may take."""
    assert budget == ContextGuard(window, reserve).budget


@pytest.mark.parametrize(
    ("window", "text", "holds"),
    [(None, "x" * 99_999, True), (4_000, "x" * 3_000, True), (4_000, "x" * 3_003, False)],
)
def test_a_text_that_is_never_cut(window: int | None, text: str, holds: bool) -> None:
    """One that takes a third of the budget leaves room enough, and so it stays whole in whatever conversation it begins."""
    guard = ContextGuard(window)
    goal = UserMessage(text=text, pinned=True)

    assert holds is guard.holds(text)
    assert not holds or goal in guard.govern([SYSTEM, goal, *native(90, "x" * 300)]).messages


@pytest.mark.parametrize("window", [None, 100_000])
def test_nothing_to_be_done_gives_the_same_tuple_back(window: int | None) -> None:
    """Messages that are whole and fit are not even copied."""
    messages = (SYSTEM, GOAL, asking("1"), result("1"))

    fitted = ContextGuard(window).fit(messages)

    assert messages is fitted.messages
    assert fitted.compaction is None
    assert messages == ContextGuard(window).govern(messages).messages


@pytest.mark.parametrize("window", [None, 100_000])
def test_calls_get_their_results(window: int | None) -> None:
    """With or without a known window, what is sent is legal."""
    orphaned = [GOAL, asking("1"), result("9")]
    guard = ContextGuard(window)

    for sent in (guard.fit(orphaned).messages, guard.govern(orphaned).messages):
        legal(sent)
        assert (GOAL, asking("1")) == sent[:2]


@pytest.mark.parametrize("talk", [native, in_json])
def test_old_results_become_a_line_only_under_pressure(talk) -> None:
    """Below 70 % of the budget all results stay; above it the ten newest do, and the others keep their handles."""
    said = [SYSTEM, GOAL, *talk(16, "x" * 900)]
    size = request_tokens(said)
    roomy, tight = ContextGuard(2 * size, reserve=0), ContextGuard(int(size / 0.72), reserve=0)

    assert 16 == sum("x" * 900 in text for text in results_of(roomy.govern(said, handles=HANDLES).messages))
    sent = tight.govern(said, handles=HANDLES)

    told = results_of(sent.messages)
    assert sent.compaction is None
    assert 16 == len(told)
    assert ["x" * 900 in text for text in told] == [False] * 6 + [True] * 10
    assert all(f'read_result("look-{n}") has the whole]' in told[n] for n in range(6))
    assert all("\n" not in text for text in told[:6] if talk is native)


@pytest.mark.parametrize("talk", [native, in_json])
def test_a_long_result_is_a_preview_where_it_can_be_read(talk) -> None:
    """What is over the limit enters in part when a handle leads to the rest, and whole when none does."""
    said = [SYSTEM, GOAL, *talk(2, "x" * LONGEST_RESULT)]

    first, second = results_of(ContextGuard(None).govern(said, handles={"c0": "look-0"}).messages)

    assert len(first) < 5_000
    assert 'read_result("look-0", offset=4000) reads on]' in first
    assert "x" * LONGEST_RESULT in second


def test_results_have_one_shape() -> None:
    """A blank one says so; one that is a message of the user's stands in a frame of its own."""
    said = [SYSTEM, GOAL, asking("1"), result("1", " \n"), observed("2", "a"), observed("3", "a")]

    *_, blank, first, second = ContextGuard(None).govern(said).messages

    assert "empty result" == blank.text
    assert first.text.startswith("<result-")
    assert "\nObservation from look:\na\n" in first.text
    assert first.text != second.text
    assert ("tool:look",) == first.origins


def test_a_cut_result_stays_in_its_frame() -> None:
    """The end of a frame is not what gives way."""
    sent = ContextGuard(2_000).govern([SYSTEM, GOAL, AssistantMessage(text="{}"), observed("1", "x" * 90_000)]).messages

    name = sent[-1].text.partition("\n")[0].strip("<>")
    assert sent[-1].text.endswith(f"characters cut]\n</{name}>")


@pytest.mark.parametrize("handles", [{}, {"x" * 100_000: "given-1"}])
def test_one_huge_message_is_cut_with_a_mark(handles: dict[str, str]) -> None:
    """A run that is one enormous message still fits: the model sees that it was cut, and how to read it, and has room to work."""
    huge = UserMessage(text="x" * 100_000, pinned=True)
    guard = ContextGuard(4_000)

    once = guard.fit([SYSTEM, huge]).messages
    sent = guard.govern([SYSTEM, huge, *native(1, "short")], handles=handles).messages

    assert SYSTEM == once[0] == sent[0]
    assert 2_900 < request_tokens(once) <= 3_000
    assert 1_400 < request_tokens(sent[1:2]) <= 1_500
    assert sent[1].text.endswith('; read_result("given-1") has the whole]' if handles else " characters cut]")
    assert tuple(native(1, "short")) == sent[2:]


def test_a_huge_message_keeps_its_handle_however_often_it_is_cut() -> None:
    """Also where the newest result leaves it less than half."""
    huge = UserMessage(text="x" * 100_000, pinned=True)
    sent = ContextGuard(4_000).govern([SYSTEM, huge, *native(1, "y" * 90_000)], handles={huge.text: "given-1", "c0": "look-0"})

    assert sent.messages[1].text.endswith('; read_result("given-1") has the whole]')
    assert "read_result" in sent.messages[-1].text


def test_reasoning_is_counted_and_kept_apart() -> None:
    """Private thinking is never part of the text, and goes only where it alone would not fit."""
    thought = AssistantMessage(text="so", reasoning="hm " * 100)
    sent = ContextGuard(1_000).govern([SYSTEM, GOAL, thought]).messages
    crowded = ContextGuard(160).govern([SYSTEM, GOAL, thought]).messages

    assert thought == sent[-1]
    assert AssistantMessage(text="so") == crowded[-1]


def test_what_can_not_fit_is_an_error_with_a_name() -> None:
    """Tool schemas longer than the window leave nothing to cut."""
    schema = ToolSpec(name="t", description="d" * 900, parameters={})

    with pytest.raises(WindowExceeded):
        ContextGuard(100).fit([GOAL], [schema])
    with pytest.raises(WindowExceeded):
        ContextGuard(100).govern([GOAL], [schema])


def test_a_compaction_says_how_much_is_left() -> None:
    """How many messages there were, and how many of them are still there; the mark for the others is none of them."""
    said = [SYSTEM, GOAL, *native(60, "x" * 300)]

    fitted = ContextGuard(2_400).govern(said)

    assert Compaction(original_messages=122, kept_messages=len(fitted.messages) - 1) == fitted.compaction


def must_stay(came: Sequence[Message], room: int) -> list[Message]:
    """The system prompt and the pins, of which the oldest after the first have gone while they exceed half the room."""
    pins = [message for message in came if isinstance(message, UserMessage) and message.pinned]
    while len(pins) > 1 and 2 * request_tokens(pins) > room:
        del pins[1]
    return [*(message for message in came if isinstance(message, SystemMessage)), *pins]


def begins_like(whole: Message, sent: Message) -> bool:
    """Whether it is the message, or the message cut."""
    kept, mark, _ = sent.text.rpartition("[… ")
    return type(whole) is type(sent) and (whole == sent or not sent.text or (bool(mark) and whole.text.startswith(kept)))


@settings(max_examples=10_000)
@given(st.integers(0, 2**64))
def test_whatever_comes_in_what_goes_out_is_legal_and_fits(seed: int) -> None:
    """Any conversation at any budget is a legal request within it: calls and results paired, system prompt and pins kept."""
    random = Random(seed)
    came, guard, handles = any_transcript(random), ContextGuard(random.randint(900, 6_000)), some_handles(random)
    assert guard.budget is not None
    must = must_stay(came, guard.budget)
    pins = [message for message in must if isinstance(message, UserMessage)]
    fits = request_tokens([*must, *units(repaired(came))[-1]]) <= guard.budget - 300
    spacious = fits and 2 * request_tokens(pins) <= guard.budget

    for sent in (guard.fit(came).messages, guard.govern(came, handles=handles).messages):
        legal(sent)
        assert request_tokens(sent) <= guard.budget
        for message in must:
            assert any(message == other or (not spacious and begins_like(message, other)) for other in sent)
