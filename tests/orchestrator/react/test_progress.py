"""Whether an agent gets anywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from orchestrator.hooks import Hook, as_one
from orchestrator.react.progress import (
    MOST_EQUAL,
    Made,
    NoProgress,
    Progress,
    RefuseRepeats,
    call_digest,
    repeated,
    result_of,
)
from registry.calls import NO_CALL, Call
from registry.errors import ToolDenied
from registry.messages import ToolCall
from registry.tools.tool import Observation

Round = str
"""Calls as letters, each followed by the digit of its result; a capital letter may have changed something."""


def made(round_: Round) -> list[Made]:
    pairs = zip(round_[::2], round_[1::2], strict=True)
    return [Made(call=call.lower(), result=result, changes=call.isupper()) for call, result in pairs]


def played(*rounds: Round) -> tuple[Progress, str]:
    """The rounds until the end, and what became of the first call of each: run, refused, or stuck after it."""
    progress, told = Progress(), ""
    for round_ in rounds:
        calls = made(round_)
        told += "x" if progress.refuses(calls[0].call) else "."
        progress.fold(calls)
        if progress.stuck:
            return progress, told + "!"
    return progress, told


@pytest.mark.parametrize(
    ("rounds", "told"),
    [
        pytest.param(["a1"] * 50, "...xx!", id="fifty equal calls"),
        pytest.param(["a1", "b1"] * 25, "......xxx!", id="pairs that take turns"),
        pytest.param(["A1", "B1"] * 25, "......xxx!", id="pairs of effects that take turns"),
        pytest.param(["a1", "b1", "c1"] * 10, ".........xxxx!", id="threes that take turns"),
        pytest.param([f"a{n}" for n in range(10)], "..........", id="polling"),
        pytest.param(["a1", "a1", "a2", "a2", "a1", "a1"], "......", id="a result that comes and goes"),
        pytest.param(["a1a1a1", "a1a1a1", "a1a1a1", "a1a1a1", "a1"], "...xx!", id="equal calls in one round"),
        pytest.param(["a1", "a1", "a1", "b1", "a1", "b2", "a1"], "....x.x!", id="other calls in between"),
        pytest.param(
            ["a1", "B1", "a1", "B2", "a1", "B3", "a1", "B4", "a1", "B5", "a1"], "...........", id="new effects in between"
        ),
        pytest.param(["a1", "a1", "a1", "a1", "B1", "a1", "a1", "a1", "a1"], "...x...xx!", id="an effect after a refusal"),
    ],
)
def test_when_a_call_is_refused(rounds: list[Round], told: str) -> None:
    """Three times the same, whatever is in between; the fourth is refused, the fifth ends it. What is new is no repeat."""
    assert told == played(*rounds)[1]


def test_it_counts_what_was_seen_again() -> None:
    """Each round says how often its calls have given their results; one that was refused has given none."""
    progress = Progress()

    assert {"a": 1, "b": 1} == progress.fold(made("a1b1"))
    assert {"a": 2, "c": 1} == progress.fold(made("a1c1"))
    assert {"a": 3, "c": 1} == progress.fold(made("a1c2"))
    assert {} == progress.fold(made("a9"))
    assert not progress.stuck


@given(st.lists(st.sampled_from(["a1", "b1", "a1b1", "b1a1"]), min_size=11))
def test_what_can_not_bring_anything_new_ends(rounds: list[Round]) -> None:
    """Two calls that always give the same get nowhere in any order."""
    assert played(*rounds)[0].stuck


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param('{"path": "h", "limit": 50}', '{"limit":50,"path":"h"}', True, id="order and space"),
        pytest.param('{"limit": 50}', '{"limit": 51}', False, id="another value"),
        pytest.param('{"limit": 1}', '{"limit": true}', False, id="one is not true"),
        pytest.param("not json", "not json", True, id="unreadable, the same"),
        pytest.param("not json", "nor this", False, id="unreadable, another"),
        pytest.param("[" * 100_000, "[" * 100_000, True, id="nested too deeply"),
    ],
)
def test_which_calls_are_the_same(one: str, other: str, same: bool) -> None:
    """Arguments count by their values."""
    assert same == (call_digest("read", one) == call_digest("read", other))
    assert call_digest("read", one) != call_digest("write", one)


def test_which_results_are_the_same() -> None:
    """What the model reads counts, and not how long it took; an error is another result than the same words."""
    seen = Observation(call_id="1", name="read", text="x", seconds=1.0)

    assert result_of(seen) == result_of(Observation(call_id="2", name="read", text="x"))
    assert result_of(seen) != result_of(Observation(call_id="1", name="read", text="y"))
    assert result_of(seen) != result_of(Observation(call_id="1", name="read", text="x", error="ToolFailed"))


@pytest.mark.parametrize(
    ("times", "said"),
    [
        pytest.param(0, "", id="refused"),
        pytest.param(1, "", id="new"),
        pytest.param(2, "2 times. Do something else", id="once more"),
        pytest.param(MOST_EQUAL, "3 times. Another call like this will be refused", id="the last time"),
    ],
)
def test_what_the_model_is_told(times: int, said: str) -> None:
    """The second and the third result of a kind carry a warning."""
    assert said in repeated(times)
    assert bool(said) == bool(repeated(times))


@pytest.mark.anyio
async def test_the_policy_refuses() -> None:
    """A call that has given the same three times is denied, with a sentence for the model; others are let through."""
    progress = Progress()
    wanted, other = (ToolCall(id="1", name=name, arguments="{}") for name in ("read", "write"))
    hooks = RefuseRepeats(progress, as_one(None))
    for _ in range(MOST_EQUAL):
        assert wanted == await hooks.before_tool(wanted, NO_CALL)
        progress.fold([Made(call=call_digest(wanted.name, wanted.arguments), result="x")])

    with pytest.raises(ToolDenied, match="'read' may not be called so: it gave the same result 3 times"):
        await hooks.before_tool(wanted, NO_CALL)
    assert other == await hooks.before_tool(other, NO_CALL)


@pytest.mark.anyio
async def test_the_others_have_their_say_behind_the_policy() -> None:
    """What it lets through they may rewrite or refuse, and all that came of calls too; what it refuses they never see."""
    asked: list[str] = []

    class Rewrites(Hook):
        async def before_tool(self, wanted: ToolCall, call: Call) -> ToolCall:
            asked.append(wanted.name)
            return replace(wanted, arguments='{"a": 1}')

        async def after_tool(self, observation: Observation, call: Call) -> Observation:
            return replace(observation, text="rewritten")

    progress = Progress()
    hooks = RefuseRepeats(progress, as_one(Rewrites()))
    for _ in range(MOST_EQUAL):
        progress.fold([Made(call=call_digest("read", "{}"), result="x")])

    with pytest.raises(ToolDenied):
        await hooks.before_tool(ToolCall(id="1", name="read", arguments="{}"), NO_CALL)
    let_through = await hooks.before_tool(ToolCall(id="2", name="write", arguments="{}"), NO_CALL)
    seen = await hooks.after_tool(Observation(call_id="2", name="write", text="x"), NO_CALL)

    assert (["write"], '{"a": 1}', "rewritten") == (asked, let_through.arguments, seen.text)


def test_the_error_names_the_tool() -> None:
    """Who reads why a step failed reads which call went round in circles."""
    error = NoProgress("read")

    assert "read" == error.tool
    assert "'read' was called again and again" in str(error)
