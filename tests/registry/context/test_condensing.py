"""Old results give way in blocks, each to a line that says where it is."""

import pytest

from registry.context import request_tokens
from registry.context.condensing import KEPT_RESULTS, condensed
from registry.messages import Message
from tests.registry.context.messages import GOAL, SYSTEM, asking, in_json, native, result, results_of

LONG = "x" * 600


def shortened(messages: list[Message], comfortable: int) -> int:
    return sum(LONG not in text for text in results_of(condensed(messages, comfortable, {})))


@pytest.mark.parametrize("talk", [native, in_json])
def test_a_block_goes_at_once_and_then_none_for_a_while(talk) -> None:
    """Lap by lap the same results are short, until the conversation has grown to its comfortable size again."""
    comfortable = request_tokens([SYSTEM, GOAL, *talk(15, LONG)])

    counts = [shortened([SYSTEM, GOAL, *talk(laps, LONG)], comfortable) for laps in range(1, 31)]

    assert [0] * 15 == counts[:15]
    assert 5 == counts[15]
    assert sorted(counts) == counts
    assert len(set(counts)) <= 5
    assert all(count <= max(0, laps - KEPT_RESULTS) for laps, count in enumerate(counts, start=1))


def test_the_newest_results_stay_whatever_their_size() -> None:
    """Ten results are never shortened here, though they be more than is comfortable."""
    messages = [SYSTEM, GOAL, *native(KEPT_RESULTS, LONG)]

    assert tuple(messages) == condensed(messages, 10, {})


def test_a_line_says_what_it_was_and_where_it_is() -> None:
    """One line, with the beginning, the size, and the handle where there is one."""
    old = [asking("c0"), result("c0", "first\nsecond " + LONG), asking("c1"), result("c1", LONG)]
    newer = native(KEPT_RESULTS + 3, "short")[4:]
    lines = results_of(condensed([*old, *newer, *old, *old], 10, {"c0": "look-0"}))

    assert lines[0].startswith("first second xxx")
    assert lines[0].endswith('[… an older result of 613 characters, shortened; read_result("look-0") has the whole]')
    assert lines[1].endswith("[… an older result of 600 characters, shortened]")
    assert "\n" not in lines[0]


def test_a_short_result_is_its_own_summary() -> None:
    """Nothing is gained by telling it in other words."""
    messages = [SYSTEM, GOAL, *native(30, "found")]

    assert tuple(messages) == condensed(messages, 10, {})
