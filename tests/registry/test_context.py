"""What is sent fits the window and is legal, and loses as little as may be."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.context import (
    NO_RESULT,
    Compaction,
    ContextGuard,
    cut,
    estimate_tokens,
    fit_texts,
    repaired,
    request_tokens,
)
from registry.errors import WindowExceeded
from registry.messages import AssistantMessage, SystemMessage, ToolCall, ToolMessage, ToolSpec, UserMessage

SYSTEM = SystemMessage(text="be brief")
GOAL = UserMessage(text="find the answer", pinned=True)


def asking(*ids: str, text: str = "", arguments: str = "{}") -> AssistantMessage:
    return AssistantMessage(text=text, calls=tuple(ToolCall(id=id, name="look", arguments=arguments) for id in ids))


def result(id: str, text: str = "found") -> ToolMessage:
    return ToolMessage(call_id=id, name="look", text=text)


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
def test_the_estimate(text, tokens):
    """Three ASCII characters or two bytes of other text make a token."""
    assert tokens == estimate_tokens(text)


def test_everything_that_is_sent_is_counted():
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


@pytest.mark.parametrize(
    ("text", "limit", "kept"),
    [
        pytest.param("short", 5, "short", id="whole"),
        pytest.param("too long", 3, "too[… 5 characters cut]", id="cut"),
        pytest.param("x", 0, "[… 1 characters cut]", id="nothing-left"),
    ],
)
def test_a_cut_is_visible(text, limit, kept):
    """A text over the limit keeps its beginning, and a mark says how much is gone."""
    assert kept == cut(text, limit)


def test_small_texts_stay_whole_and_large_ones_share():
    """Each text gets a fair share, whatever its place; what small ones leave goes to the large ones."""
    texts = ["a" * 9_000, "tiny", "b" * 9_000]

    first, tiny, last = fit_texts(texts, 1_000)

    assert "tiny" == tiny
    assert first.startswith("a" * 1_400)
    assert last.startswith("b" * 1_400)
    assert all("characters cut]" in text for text in (first, last))


@given(st.lists(st.text(max_size=200), max_size=8), st.integers(0, 300))
def test_texts_fit_their_budget(texts, budget):
    """Together the texts never exceed the budget, and none is lost or longer than it was."""
    fitted = fit_texts(texts, budget)

    assert len(texts) == len(fitted)
    assert sum(map(estimate_tokens, fitted)) <= budget or fitted == texts


@pytest.mark.parametrize(
    ("messages", "whole"),
    [
        pytest.param([asking("1")], (asking("1"), result("1", NO_RESULT)), id="call-without-result"),
        pytest.param([GOAL, result("9")], (GOAL,), id="result-without-call"),
        pytest.param([asking("1", "2"), result("2")], (asking("1", "2"), result("1", NO_RESULT), result("2")), id="one-of-two"),
        pytest.param([asking("1"), GOAL, result("1")], (asking("1"), result("1"), GOAL), id="result-elsewhere"),
        pytest.param(
            [asking("1", "2"), result("2"), result("1")], (asking("1", "2"), result("1"), result("2")), id="out-of-order"
        ),
        pytest.param([asking("1"), result("1"), result("1")], (asking("1"), result("1")), id="result-twice"),
    ],
)
def test_orphans_are_repaired(messages, whole):
    """Every call is directly followed by its one result, in call order."""
    assert whole == repaired(messages)


@pytest.mark.parametrize("window", [None, 100_000])
def test_nothing_to_be_done_gives_the_same_tuple_back(window):
    """Messages that are whole and fit are not even copied."""
    messages = (SYSTEM, GOAL, asking("1"), result("1"))

    fitted = ContextGuard(window).fit(messages)

    assert messages is fitted.messages
    assert fitted.compaction is None


def test_an_unknown_window_still_repairs():
    """Without a window nothing is trimmed, but what is sent is legal."""
    assert (asking("1"), result("1", NO_RESULT)) == ContextGuard(None).fit([asking("1")]).messages


@pytest.mark.parametrize(
    ("window", "reserve", "budget"),
    [
        pytest.param(100_000, None, 91_808, id="default"),
        pytest.param(4_000, None, 3_000, id="a-quarter-at-most"),
        pytest.param(4_000, 9_000, 3_000, id="asked-for-too-much"),
        pytest.param(4_000, 100, 3_900, id="asked-for"),
    ],
)
def test_the_reserve_is_at_most_a_quarter(window, reserve, budget):
    """The budget is the window without what the reply may take."""
    assert budget == ContextGuard(window, reserve).budget


def test_the_oldest_goes_first_and_calls_go_with_their_results():
    """System prompt, pins and the newest messages stay; a call and its results leave together."""
    rounds = [message for n in range(9) for message in (asking(f"{n}"), result(f"{n}", f"{n}" * 300))]
    guard = ContextGuard(800, reserve=200)

    fitted = guard.fit([SYSTEM, GOAL, *rounds])

    kept = fitted.messages
    assert (SYSTEM, GOAL) == kept[:2]
    assert tuple(rounds[-len(kept) + 2 :]) == kept[2:]
    assert isinstance(kept[2], AssistantMessage)
    assert Compaction(original_messages=20, kept_messages=len(kept)) == fitted.compaction
    assert 10 == len(kept)


def test_the_oldest_interrupts_are_unpinned_when_pins_take_half():
    """The goal and the newest interrupts stay; older ones may go."""
    interrupts = [UserMessage(text=f"[USER INTERRUPT] {n} " + "x" * 300, pinned=True) for n in range(8)]

    kept = ContextGuard(800, reserve=200).fit([GOAL, *interrupts, AssistantMessage(text="y" * 300)]).messages

    assert GOAL == kept[0]
    assert interrupts[-1] in kept
    assert interrupts[0] not in kept


def test_one_huge_message_is_cut_with_a_mark():
    """A run that is one enormous message still fits, and the model sees that it was cut."""
    fitted = ContextGuard(1_000).fit([SYSTEM, UserMessage(text="x" * 100_000, pinned=True)])

    assert SYSTEM == fitted.messages[0]
    assert "characters cut]" in fitted.messages[1].text
    assert 700 < request_tokens(fitted.messages) <= 750


def test_huge_arguments_give_way_to_legal_ones():
    """Arguments that alone exceed the window are replaced by an empty object, never by half a JSON text."""
    kept = ContextGuard(400).fit([GOAL, asking("1", arguments='{"text": "' + "x" * 9_000 + '"}'), result("1")]).messages

    assert "{}" == kept[1].calls[0].arguments
    assert result("1") == kept[2]


def test_a_conversation_that_lost_its_beginning_is_led_by_a_mark():
    """Where the first thing left was said by the assistant, a user message stands before it."""
    history = [UserMessage(text="x" * 3_000), AssistantMessage(text="y" * 300), UserMessage(text="and now?")]

    kept = ContextGuard(400).fit([SYSTEM, *history]).messages

    assert [SYSTEM, UserMessage(text="[… earlier messages cut]"), *history[1:]] == list(kept)


def test_what_can_not_fit_is_an_error_with_a_name():
    """Tool schemas longer than the window leave nothing to cut."""
    with pytest.raises(WindowExceeded):
        ContextGuard(100).fit([GOAL], [ToolSpec(name="t", description="d" * 900, parameters={})])


texts = st.text(alphabet="ab 漢", max_size=600)
ids = st.sampled_from([f"call_{n}" for n in range(12)])
messages = st.one_of(
    st.builds(SystemMessage, text=texts),
    st.builds(UserMessage, text=texts, pinned=st.booleans()),
    st.builds(
        AssistantMessage,
        text=texts,
        reasoning=texts,
        opaque=texts,
        calls=st.lists(ids, max_size=3, unique=True).map(
            lambda asked: tuple(ToolCall(id=id, name="look", arguments='{"a": "' + "z" * 50 + '"}') for id in asked)
        ),
    ),
    st.builds(ToolMessage, call_id=ids, name=st.just("look"), text=texts),
)


def legal(sent) -> bool:
    """Whether each assistant message is directly followed by exactly the results of its calls, in order."""
    at = 0
    while at < len(sent):
        assert not isinstance(sent[at], ToolMessage)
        asked = [call.id for call in sent[at].calls] if isinstance(sent[at], AssistantMessage) else []
        came = sent[at + 1 : at + 1 + len(asked)]
        if asked != [getattr(message, "call_id", None) for message in came]:
            return False
        at += 1 + len(asked)
    return True


@settings(max_examples=300, deadline=None)
@given(st.lists(messages, min_size=1, max_size=25), st.integers(600, 4_000))
def test_whatever_comes_in_what_goes_out_is_legal_and_fits(came, window):
    """Any messages at all, orphans included, become a legal request within the budget."""
    guard = ContextGuard(window)

    sent = guard.fit(came).messages

    assert legal(sent)
    assert request_tokens(sent) <= guard.budget


@settings(max_examples=100, deadline=None)
@given(st.lists(messages, min_size=1, max_size=25), st.integers(600, 4_000))
def test_fitting_again_changes_nothing(came, window):
    """What fits is left alone."""
    guard = ContextGuard(window)
    sent = guard.fit(came).messages

    assert sent is guard.fit(sent).messages
