"""A conversation that goes on is governed as the guard governs it, for the price of what is new."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.context import LONGEST_RESULT, NO_HANDLES, ContextGuard, Growing
from registry.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, ToolSpec, UserMessage

TOOLS = (ToolSpec(name="look", description="Look.", parameters={"type": "object"}),)

texts = st.sampled_from(["", "short", "<result-1> in a frame", "a text of some length " * 20, "é" * 300])


def called(number: int, text: str) -> tuple[Message, ...]:
    """A call with its result."""
    call = ToolCall(id=f"c{number}", name="look", arguments="{}")
    return AssistantMessage(text="", calls=(call,)), ToolMessage(call_id=call.id, name="look", text=text)


@st.composite
def laps(draw: st.DrawFn) -> list[tuple[Message, ...]]:
    """What each lap adds: words, calls with results, results as a user tells them, and now and then half of a pair."""
    added: list[tuple[Message, ...]] = [(SystemMessage(text="s"), UserMessage(text="goal", pinned=True))]
    for number in range(draw(st.integers(0, 12))):
        call, result = called(number, draw(texts))
        told = UserMessage(text=draw(texts), call_id=f"u{number}")
        added.append(draw(st.sampled_from([(call, result), (call, result), (told,), (UserMessage(text=result.text),), (call,)])))
    return added


@given(laps(), st.sampled_from([None, 400, 2_000, 100_000]), st.data())
def test_it_is_what_the_guard_says(added: list[tuple[Message, ...]], window: int | None, data: st.DataObject) -> None:
    """Lap by lap, whatever was added, asked beside it once, or put in the place of the opening."""
    guard = ContextGuard(window)
    growing, said = Growing(guard), list[Message]()
    handles = {f"c{number}": f"look-{number}" for number in range(12)}
    for new in added:
        said += new
        if data.draw(st.integers(0, 5)) == 0:
            said[0] = SystemMessage(text=data.draw(texts))
        beside = [UserMessage(text="again")] if data.draw(st.booleans()) else []
        known = data.draw(st.sampled_from([handles, handles, NO_HANDLES]))

        assert guard.govern([*said, *beside], TOOLS, handles=known) == growing.govern([*said, *beside], TOOLS, handles=known)


class Counting(dict[str, str]):
    """Handles that know how often they were looked for."""

    looked = 0

    def get(self, *args: str) -> str:  # type: ignore[override]
        self.looked += 1
        return super().get(*args)


@pytest.mark.parametrize("window", [pytest.param(None, id="of any length"), pytest.param(100_000, id="with room")])
def test_a_lap_looks_at_what_is_new(window: int | None) -> None:
    """However long the conversation is, only the new result is brought into its shape."""
    handles, said = Counting(c0="look-0", c1="look-1"), [UserMessage(text="goal"), *called(0, "x" * LONGEST_RESULT + "!")]
    growing = Growing(ContextGuard(window))
    before = growing.govern(said, (), handles=handles).messages
    said += called(1, "found")
    looked = handles.looked

    after = growing.govern(said, (), handles=handles).messages

    assert handles.looked - looked == 1
    assert before == after[: len(before)]
    assert len(after[2].text) < LONGEST_RESULT


def test_a_long_conversation_gives_way() -> None:
    """Where there is no room any more, old results are shortened as the guard shortens them."""
    said: list[Message] = [UserMessage(text="goal")]
    guard, handles = ContextGuard(4_000), dict[str, str]()
    growing, whole = Growing(guard), 0
    for number in range(40):
        said += called(number, f"{number} " * 100)
        fitted = growing.govern(said, (), handles=handles)
        assert guard.govern(said, (), handles=handles) == fitted
        whole += fitted.messages == tuple(said)

    assert 0 < whole < 40
