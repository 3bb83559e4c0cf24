"""What has to be said before a tool call runs, and by whom."""

from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from orchestrator.clearance import HAPPENED, SKIPPED, InPlace, clearance
from orchestrator.errors import OutcomeUnknown
from orchestrator.events.facts import Answered
from orchestrator.state import RunState
from orchestrator.waiting import Decision, Waiting, WaitingKind
from registry.builtin import ask_user
from registry.calls import Call, InDoubt
from registry.errors import ToolDenied
from registry.messages import ToolCall
from registry.tools.function import tool
from registry.tools.tool import ABSENT, Effect, Observation, Tool

pytestmark = pytest.mark.anyio

CALL = Call(run="r", scope="step/x", label="x", key="k")
WANTED = ToolCall(id="1", name="send", arguments='{"to": "Ann", "body": "hi"}')
SHOWN = 'send with {"body": "hi", "to": "Ann"}'
DOUBT = 'send was begun with {"to": "Ann", "body": "hi"}, and nobody knows whether it happened'


def sending(**traits: Any) -> Tool:
    """A tool that must not run here: whether it may is all that is asked."""

    @tool(**traits)
    async def send(to: str, body: str = "") -> str:
        """Send a letter."""
        raise AssertionError("it ran")

    return send


def after(*answers: tuple[Waiting, Decision], begun: int = 0, text: str = "", by: str = "") -> RunState:
    """The state of a run in which the call was begun so often, and this was said."""
    state = RunState()
    state.begun[CALL.key] = begun
    for waiting, decision in answers:
        state.answers[waiting.id] = Answered(waiting=waiting.id, key=CALL.key, decision=decision, text=text, by=by)
    return state


def waits(kind: WaitingKind, what: str, nth: int = 1) -> Waiting:
    return Waiting(step="x", key="k", what=what, kind=kind, nth=nth)


def said(text: str) -> Observation:
    return Observation(call_id="1", name="send", text=text)


APPROVAL = waits("approval", SHOWN)
AGAIN = waits("approval", f"{SHOWN}, again: it was begun before, and may have happened", nth=2)


@pytest.mark.parametrize("effect", ["pure", "keyed", "transactional", "unkeyed"])
async def test_most_calls_need_no_word(effect: Effect) -> None:
    """A tool that asks for no approval just runs, the first time."""
    assert await clearance(sending(effect=effect), WANTED, CALL, after()) is None


@pytest.mark.parametrize("effect", ["pure", "keyed", "transactional", "unkeyed"])
async def test_a_leave_is_for_exactly_what_was_shown(effect: Effect) -> None:
    """Before there is one the call waits, with it the call runs; one for other arguments or another call is none."""
    send = sending(effect=effect, requires_approval=True)
    other = replace(WANTED, arguments='{"to": "Bob", "body": "hi"}')

    assert APPROVAL == await clearance(send, WANTED, CALL, after())
    assert await clearance(send, WANTED, CALL, after((APPROVAL, "approve"))) is None
    assert isinstance(await clearance(send, other, CALL, after((APPROVAL, "approve"))), Waiting)
    assert isinstance(await clearance(send, WANTED, replace(CALL, key="k2"), after((APPROVAL, "approve"))), Waiting)


async def test_the_same_arguments_in_another_notation_are_the_same() -> None:
    """What is shown is what the tool will be given, and not how it was written."""
    mended = replace(WANTED, arguments='{"body": "hi", "to": "Ann",}')

    assert APPROVAL == await clearance(sending(requires_approval=True), mended, CALL, after())


async def test_what_is_shown_can_all_be_seen() -> None:
    """Nothing is cut, and no character hides or turns the others."""
    body = "x" * 50_000 + "\u202e\x1b"
    wanted = replace(WANTED, arguments=f'{{"to": "Ann", "body": "{body[:-1]}\\u001b"}}')
    asked = await clearance(sending(requires_approval=True), wanted, CALL, after())

    assert isinstance(asked, Waiting)
    assert f'send with {{"body": "{"x" * 50_000}\\u202e\\u001b", "to": "Ann"}}' == asked.what


async def test_a_no_is_for_the_model_to_read() -> None:
    """With what the person said, and who they are."""
    with pytest.raises(ToolDenied, match="'send' may not be called so: Ada said no: too rude"):
        await clearance(sending(requires_approval=True), WANTED, CALL, after((APPROVAL, "reject"), text="too rude", by="Ada"))


async def test_nobody_is_asked_about_what_cannot_run() -> None:
    """Wrong arguments are refused, with or without a leave."""
    wrong = replace(WANTED, arguments='{"body": "hi"}')
    seen = await clearance(sending(requires_approval=True), wrong, CALL, after())

    assert isinstance(seen, Observation)
    assert ("BadArguments", "1") == (seen.error, seen.call_id)


@pytest.mark.parametrize("begun", [0, 1])
async def test_a_question_waits_for_its_answer(begun: int) -> None:
    """The answer is the user's own word: nothing about it is untrusted."""
    wanted = ToolCall(id="1", name="ask_user", arguments='{"question": "Which\\nharbour?"}')
    question = waits("question", "Which\nharbour?")

    assert question == await clearance(ask_user, wanted, CALL, after(begun=begun))
    seen = await clearance(ask_user, wanted, CALL, after((question, "answer"), text="North"))
    assert Observation(call_id="1", name="ask_user", text="North") == seen


async def test_a_user_may_be_asked_for_more_than_a_question() -> None:
    """Where a tool that the user answers has no question, all its arguments are put to them."""

    @tool(answered_by_user=True)
    async def choose(among: list[str]) -> str:
        """Let the user choose."""
        raise AssertionError("it ran")

    wanted = ToolCall(id="1", name="choose", arguments='{"among": ["a", "b"]}')

    assert waits("question", '{"among": ["a", "b"]}') == await clearance(choose, wanted, CALL, after())


@pytest.mark.parametrize("effect", ["pure", "keyed"])
@pytest.mark.parametrize("approval", [True, False])
async def test_what_is_safe_to_repeat_is_never_in_doubt(effect: Effect, approval: bool) -> None:
    """It is the same effect under the same key, so the leave that it had still holds."""
    assert await clearance(sending(effect=effect, requires_approval=approval), WANTED, CALL, after(begun=2)) is None


@pytest.mark.parametrize(
    ("decision", "text", "seen"),
    [
        pytest.param("happened", "sent at noon", said("sent at noon"), id="it happened"),
        pytest.param("happened", "", said(HAPPENED), id="it happened, and no more is known"),
        pytest.param("skip", "", said(SKIPPED), id="go on without it"),
        pytest.param("retry", "", None, id="do it again"),
    ],
)
@pytest.mark.parametrize("policy", ["ask", "skip", "fail"])
@pytest.mark.parametrize("approval", [True, False])
async def test_a_person_knows_best(decision: Decision, text: str, seen: InPlace | None, policy: InDoubt, approval: bool) -> None:
    """Of a call in doubt a person's word counts before the policy, and needs no further leave."""
    state = after((waits("in_doubt", DOUBT), decision), begun=1, text=text)
    assert seen == await clearance(sending(requires_approval=approval), WANTED, replace(CALL, in_doubt=policy), state)


async def test_an_answer_is_used_once() -> None:
    """A call that is in doubt again is asked about again."""
    state = after((waits("in_doubt", DOUBT), "retry"), begun=2)

    assert waits("in_doubt", DOUBT, nth=2) == await clearance(sending(), WANTED, CALL, state)


@pytest.mark.parametrize(
    ("policy", "instead"),
    [
        pytest.param("ask", waits("in_doubt", DOUBT), id="ask"),
        pytest.param("probe", waits("in_doubt", DOUBT), id="probe, and there is none"),
        pytest.param("skip", said(SKIPPED), id="skip"),
        pytest.param("retry", None, id="retry"),
    ],
)
@pytest.mark.parametrize("effect", ["transactional", "unkeyed"])
async def test_the_policy_of_the_step(policy: InDoubt, instead: InPlace | None, effect: Effect) -> None:
    """Where nobody has said anything. A transactional tool that can't be asked is like one that has no key."""
    assert instead == await clearance(sending(effect=effect), WANTED, replace(CALL, in_doubt=policy), after(begun=1))


@pytest.mark.parametrize(
    ("policy", "answers"),
    [
        pytest.param("fail", (), id="policy"),
        pytest.param("ask", ((waits("in_doubt", DOUBT), "fail"),), id="person"),
    ],
)
async def test_a_step_may_fail_by_a_doubt(policy: InDoubt, answers: tuple[tuple[Waiting, Decision], ...]) -> None:
    """By its policy, or because a person says so."""
    with pytest.raises(OutcomeUnknown, match="'send' was begun"):
        await clearance(sending(), WANTED, replace(CALL, in_doubt=policy), after(*answers, begun=1))


async def test_to_repeat_unasked_takes_another_leave() -> None:
    """A leave was for one sending: a policy that may send twice asks twice, and a no does not mean that nothing happened."""
    send, retrying = sending(requires_approval=True), replace(CALL, in_doubt="retry")

    assert AGAIN == await clearance(send, WANTED, retrying, after((APPROVAL, "approve"), begun=1))
    assert await clearance(send, WANTED, retrying, after((APPROVAL, "approve"), (AGAIN, "approve"), begun=1)) is None
    assert said(SKIPPED) == await clearance(send, WANTED, retrying, after((APPROVAL, "approve"), (AGAIN, "reject"), begun=1))


def asked(found: object, **traits: Any) -> tuple[Tool, list[str]]:
    """A tool whose record says so of the key, and the keys that it was asked about."""
    keys = []

    async def probe(key: str) -> object:
        keys.append(key)
        await anyio.lowlevel.checkpoint()
        if isinstance(found, Exception):
            raise found
        return found

    return sending(probe=probe, **traits), keys


PROBED = pytest.mark.parametrize(
    ("effect", "policy"),
    [
        pytest.param("transactional", "ask", id="transactional"),
        pytest.param("transactional", "skip", id="transactional, whatever the policy"),
        pytest.param("unkeyed", "probe", id="unkeyed, by its policy"),
    ],
)


@PROBED
async def test_a_tool_is_asked_by_the_key(effect: Effect, policy: InDoubt) -> None:
    """What it recorded is the outcome, and what it has no record of is done."""
    done, keys = asked("sent at noon", effect=effect)
    absent, _ = asked(ABSENT, effect=effect)
    call = replace(CALL, in_doubt=policy)
    seen = await clearance(done, WANTED, call, after(begun=1))

    assert isinstance(seen, Observation)
    assert ("sent at noon", ("tool:send",), ["k"]) == (seen.text, seen.origins, keys)
    assert await clearance(absent, WANTED, call, after(begun=1)) is None


@PROBED
@pytest.mark.parametrize("found", [None, ConnectionError("down")])
async def test_a_tool_that_cannot_say_leaves_the_doubt(
    effect: Effect, policy: InDoubt, found: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is guessed: what is not known goes the way of the policy, and an operator reads why."""
    send, _ = asked(found, effect=effect)
    instead = await clearance(send, WANTED, replace(CALL, in_doubt=policy), after(begun=1))

    assert (said(SKIPPED) if policy == "skip" else waits("in_doubt", DOUBT)) == instead
    assert "probe of 'send'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("effect", "policy", "answers"),
    [
        pytest.param("unkeyed", "ask", (), id="not where the policy is to ask"),
        pytest.param("transactional", "ask", ((waits("in_doubt", DOUBT), "skip"),), id="not after a person's word"),
    ],
)
async def test_when_a_tool_is_not_asked(effect: Effect, policy: InDoubt, answers: tuple[tuple[Waiting, Decision], ...]) -> None:
    """A probe runs where the effect or the policy wants it, and no one has spoken."""
    send, keys = asked("sent", effect=effect)
    await clearance(send, WANTED, replace(CALL, in_doubt=policy), after(*answers, begun=1))

    assert [] == keys
