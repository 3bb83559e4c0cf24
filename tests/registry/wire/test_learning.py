"""What refusals teach."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import fields

from registry.errors import Refused
from registry.wire.learning import adjusted, learn, learnt
from registry.wire.rules import COMPATIBLE, LLAMA_CPP, OPENAI, WireRules

RENAMED = {"max_tokens_parameter": "max_completion_tokens", "max_tokens_renamed": True}
CAP = 24_000


def refused(why: str = "no", *, parameter: str | None = None, codes: tuple[str, ...] = (), status: int = 400) -> Refused:
    return Refused("https://x", why, status=status, parameter=parameter, codes=codes)


def changed(before: WireRules, after: WireRules | None) -> dict[str, Any]:
    """The fields in which the second row differs."""
    names = [field.name for field in fields(WireRules)] if after else []
    return {name: getattr(after, name) for name in names if getattr(before, name) != getattr(after, name)}


@pytest.mark.parametrize(
    ("refusal", "change"),
    [
        pytest.param(refused(parameter="max_tokens", codes=("unsupported_parameter",)), RENAMED, id="cap unknown"),
        pytest.param(refused("Use 'max_completion_tokens', not 'max_tokens'"), RENAMED, id="cap unknown, said in words"),
        pytest.param(refused('[{"loc":["body","max_tokens"],"msg":"extra"}]', status=422), RENAMED, id="cap unknown, 422"),
        pytest.param(refused("unknown", parameter="max_completion_tokens"), {}, id="a cap that is not sent"),
        pytest.param(refused("'max_tokens' is too large: 24000"), {}, id="a cap that is known"),
        pytest.param(refused(parameter="temperature", codes=("unsupported_value",)), {"temperature": False}, id="temperature"),
        pytest.param(refused("`temperature` is deprecated"), {"temperature": False}, id="temperature, quoted"),
        pytest.param(refused("the temperature of the server is high"), {}, id="temperature, an everyday word"),
        pytest.param(refused(parameter="temperature", codes=("decimal_above_max_value",)), {}, id="temperature out of range"),
        pytest.param(refused("'temperature' must be between 0 and 2"), {}, id="temperature out of range, said in words"),
        pytest.param(refused(parameter="tool_choice"), {"named_tool_choice": False}, id="tool choice"),
        pytest.param(refused("tool_choice must be auto"), {"named_tool_choice": False}, id="tool choice, said in words"),
        pytest.param(refused(parameter="response_format.type"), {"schema_format": False}, id="format"),
        pytest.param(refused("This response_format type is unavailable"), {"schema_format": False}, id="format, said in words"),
        pytest.param(refused(parameter="stream_options", status=404), {"stream_usage": False}, id="usage in streams"),
        pytest.param(refused(parameter="messages[0].role"), {"system_role": False}, id="role"),
        pytest.param(refused(parameter="body.messages.0.role"), {"system_role": False}, id="role, as a path"),
        pytest.param(refused("System role not supported"), {"system_role": False}, id="role, said in words"),
        pytest.param(refused(parameter="messages[1].tool_calls[0].extra_content"), {"call_extras": False}, id="extras of calls"),
        pytest.param(refused("Unknown name at 'messages[1].tool_calls[0]'"), {"call_extras": False}, id="extras, said in words"),
        pytest.param(refused(parameter="messages"), {}, id="messages as such"),
        pytest.param(refused(parameter="tools"), {}, id="what can't be done without"),
        pytest.param(refused("max_tokens", parameter="model"), {}, id="the field counts more than the message"),
        pytest.param(refused(parameter="temperature", status=413), {}, id="another status"),
        pytest.param(Refused("https://x", "no", parameter="temperature"), {}, id="no status"),
        pytest.param(refused("tool use is not supported", status=404), {}, id="prose"),
    ],
)
def test_what_is_given_up(refusal: Refused, change: dict[str, Any]) -> None:
    """What the endpoint named is said otherwise or left out; a row that has nothing to give up is None."""
    after = adjusted(COMPATIBLE, refusal, cap=CAP)

    assert change == changed(COMPATIBLE, after)
    assert bool(change) == (after is not None)


@pytest.mark.parametrize(
    ("why", "limit"),
    [
        pytest.param("max_tokens is too large: 24000. This model supports at most 16384 completion tokens", 16_384, id="at most"),
        pytest.param("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8_192, id="range"),
        pytest.param("max_tokens: range [1,8192]", 8_192, id="range without a blank"),
        pytest.param("max_tokens must be between 16 and 4096", 4_096, id="between"),
        pytest.param("max_tokens must be less than or equal to 32,768", None, id="more than was asked for"),
        pytest.param("max_tokens: 24000 > 8192, which is the maximum for gpt-4-0613", 8_192, id="comparison"),
        pytest.param("max_tokens is beyond the maximum for gpt-4-0613", None, id="a number in a name"),
        pytest.param("max_tokens: 24000 is too large", None, id="not said"),
        pytest.param("max_tokens: up to 16,000", 16_000, id="thousands"),
        pytest.param("max_tokens must be at most 1", None, id="next to nothing"),
    ],
)
def test_caps_that_are_too_large(why: str, limit: int | None) -> None:
    """The largest cap is read from the message, once the code says that the value is wrong; a cap is never dropped."""
    after = adjusted(COMPATIBLE, refused(why, parameter="max_tokens", codes=("invalid_value",)), cap=CAP)

    assert limit == (after.most_tokens if after else None)
    assert changed(COMPATIBLE, after).keys() <= {"most_tokens"}


def test_a_limit_counts_only_for_a_cap_that_was_sent() -> None:
    """Without a cap there is nothing to lower."""
    assert adjusted(COMPATIBLE, refused("at most 16", parameter="max_tokens", codes=("invalid_value",))) is None


def test_a_forced_call_is_given_up_in_two_steps() -> None:
    """First the name, then the force."""
    refusal = refused(parameter="tool_choice")
    once = adjusted(OPENAI, refusal)
    assert once is not None
    twice = adjusted(once, refusal)
    assert twice is not None

    assert {"tool_choice": False} == changed(once, twice)
    assert adjusted(twice, refusal) is None


names = st.sampled_from(
    ["max_tokens", "max_completion_tokens", "temperature", "tool_choice", "response_format", "messages[0].role", "seed", ""]
)
words = st.sampled_from(
    ["no", "unknown", "at most 512", "'max_tokens'", "`temperature` and tool_choice", "response_format", "system role"]
)
codes = st.sampled_from([(), ("unsupported_parameter",), ("invalid_value",), ("invalid_request_error", "400")])
refusals = st.builds(
    lambda parameter, why, code, status: refused(why, parameter=parameter or None, codes=code, status=status),
    *(names, words, codes, st.sampled_from([400, 401, 404, 413, 422])),
)
rows = st.sampled_from([COMPATIBLE, LLAMA_CPP, OPENAI])


@given(rows, refusals)
def test_a_refusal_is_heeded_once(rules: WireRules, refusal: Refused) -> None:
    """Where one thing is named that can be said in two ways at most, the row that heeds it has nothing more to learn from it."""
    assume(refusal.parameter not in (None, "tool_choice"))
    once = adjusted(rules, refusal, cap=CAP)

    assert once is None or adjusted(once, refusal, cap=CAP) is None


@given(rows, st.lists(refusals, max_size=60))
def test_every_chain_of_refusals_ends(rules: WireRules, chain: list[Refused]) -> None:
    """Whatever an endpoint refuses, in whatever order, a row changes a handful of times, and never back."""
    seen = [rules]
    for refusal in chain:
        after = adjusted(seen[-1], refusal, cap=CAP)
        if after is not None:
            assert all(changed(before, after) for before in seen)
            seen.append(after)

    assert len(seen) - 1 <= 8


@pytest.mark.anyio
async def test_lessons_are_kept_for_their_model_and_endpoint() -> None:
    """What set two rows apart changes any row of that model there, which stays the same row while nothing new is learnt."""
    after = adjusted(OPENAI, refused(parameter="temperature"))
    assert after is not None
    learn("https://x", "m", before=OPENAI, after=after)

    capped = adjusted(OPENAI, refused("at most 9", parameter="max_completion_tokens", codes=("invalid_value",)), cap=CAP)
    assert capped is not None
    learn("https://x", "m", before=OPENAI, after=capped)

    assert {"temperature": False, "most_tokens": 9} == changed(COMPATIBLE, learnt("https://x", "m", COMPATIBLE))
    assert learnt("https://x", "m", OPENAI) is learnt("https://x", "m", OPENAI)
    assert OPENAI is learnt("https://x", "other", OPENAI)
    assert OPENAI is learnt("https://y", "m", OPENAI)
