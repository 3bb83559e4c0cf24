"""What goes when not everything fits, and what stays."""

import pytest

from registry.context import ContextGuard, request_tokens
from registry.context.trimming import Trimming
from registry.errors import WindowExceeded
from registry.messages import AssistantMessage, Message, SystemMessage, UserMessage
from tests.registry.context.messages import GOAL, SYSTEM, asking, in_json, native, result


def kept(messages: list[Message], room: int) -> tuple[Message, ...]:
    return Trimming(room=room).trimmed(messages)[0]


@pytest.mark.parametrize("talk", [native, in_json])
def test_the_oldest_goes_first_and_calls_go_with_their_results(talk) -> None:
    """System prompt, pins and the newest messages stay; a call and its results leave together, and a mark stands for them."""
    rounds = talk(9, "x" * 300)

    left, lost = Trimming(room=600).trimmed([SYSTEM, GOAL, *rounds])

    assert (SYSTEM, GOAL, UserMessage(text=f"[… {lost} earlier messages cut]")) == left[:3]
    assert tuple(rounds[lost:]) == left[3:]
    assert 10 <= lost <= 12
    assert 0 == lost % 2


def test_the_mark_names_what_can_still_be_read() -> None:
    """Results that are gone can be read by their handles: the newest of them are named."""
    handles = {f"c{n}": f"look-{n}" for n in range(20)}

    left, lost = Trimming(room=2_000, handles=handles).trimmed([SYSTEM, GOAL, *native(20, "x" * 600)])

    last = lost // 2 - 1
    assert left[2].text.startswith(f"[… {lost} earlier messages cut; read_result still has look-{last}, look-{last - 1}, ")
    assert request_tokens(left) <= 2_000


def test_a_conversation_that_goes_on_gives_way_in_steps() -> None:
    """What is gone stays the same for many laps, so that what a provider has cached is of use."""
    lost = [Trimming(room=4_000, goes_on=True).trimmed([SYSTEM, GOAL, *native(laps, "x" * 300)])[1] for laps in range(40, 80)]

    assert sorted(lost) == lost
    assert 3 <= len(set(lost)) <= 6


def test_a_lone_newest_message_is_not_left_out_of_steps() -> None:
    """Where a whole step is more than there is to go, only as much goes as must."""
    said = [SYSTEM, GOAL, *native(3, "x" * 300), asking("big"), result("big", "y" * 3_600)]

    left, lost = Trimming(room=1_500, goes_on=True).trimmed(said)

    assert 4 == lost
    assert said[-2:] == list(left[-2:])


def test_the_oldest_interrupts_are_unpinned_when_pins_take_half() -> None:
    """The goal and the newest interrupts stay; older ones may go."""
    interrupts = [UserMessage(text=f"[USER INTERRUPT] {n} " + "x" * 300, pinned=True) for n in range(8)]

    left = kept([GOAL, *interrupts, AssistantMessage(text="y" * 300)], 600)

    assert GOAL == left[0]
    assert interrupts[-1] in left
    assert interrupts[0] not in left


def test_huge_arguments_give_way_to_legal_ones() -> None:
    """Arguments that alone exceed the window are replaced by an empty object, never by half a JSON text."""
    left = kept([GOAL, asking("1", arguments='{"text": "' + "x" * 9_000 + '"}'), result("1")], 300)

    assert isinstance(left[1], AssistantMessage)
    assert "{}" == left[1].calls[0].arguments
    assert result("1") == left[2]


def test_a_conversation_that_lost_its_beginning_is_led_by_a_mark() -> None:
    """Where the first thing left was said by the assistant, a user message stands before it."""
    history = [UserMessage(text="x" * 3_000), AssistantMessage(text="y" * 300), UserMessage(text="and now?")]

    assert (SYSTEM, UserMessage(text="[… 1 earlier messages cut]"), *history[1:]) == kept([SYSTEM, *history], 300)


def test_what_must_stay_and_can_not_is_an_error() -> None:
    """There is nothing to be cut of a message's frame."""
    with pytest.raises(WindowExceeded, match="3 messages that must stay need more than 8 tokens"):
        kept([SystemMessage(text="s"), GOAL, UserMessage(text="u")], 8)


def test_fitting_again_changes_nothing() -> None:
    """What fits is left alone."""
    guard = ContextGuard(800)
    sent = guard.fit([SYSTEM, GOAL, *native(20, "x" * 300)]).messages

    assert sent is guard.fit(sent).messages
