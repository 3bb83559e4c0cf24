"""Thoughts as they are kept for the endpoint that had them."""

import pytest

from registry.messages import Json
from registry.wire.anthropic.thoughts import Thought, is_thought, kept, placed

SIGNED: dict[str, Json] = {"type": "thinking", "thinking": "hm é", "signature": "c2ln"}
HIDDEN: dict[str, Json] = {"type": "redacted_thinking", "data": "ZGF0YQ"}


def thought(block: dict[str, Json], text: int = 0, calls: int = 0) -> Thought:
    return Thought(block=block, text=text, calls=calls)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        pytest.param(SIGNED, True, id="thinking"),
        pytest.param(HIDDEN, True, id="redacted"),
        pytest.param({"type": "text", "text": "x"}, False, id="text"),
        pytest.param({"type": ["thinking"]}, False, id="no type"),
        pytest.param({}, False, id="nothing"),
    ],
)
def test_what_a_thought_is(block: dict[str, Json], expected: bool) -> None:
    """Open and encrypted thinking is thought, and nothing else."""
    assert expected is is_thought(block)


def test_what_is_kept_comes_back() -> None:
    """Blocks come back as they were, with all that they held, in their places."""
    thoughts = [thought(SIGNED), thought(HIDDEN, 3, 1), thought({**SIGNED, "new": [None, 10**30]}, 3, 2)]

    assert thoughts == placed(kept(thoughts, "https://x"), "https://x")


@pytest.mark.parametrize(
    "block",
    [
        pytest.param({"type": "thinking", "thinking": "hm"}, id="no signature"),
        pytest.param({"type": "thinking", "thinking": "hm", "signature": ""}, id="an empty one"),
        pytest.param({"type": "thinking", "thinking": "hm", "signature": [1]}, id="no text"),
        pytest.param({"type": "redacted_thinking"}, id="no data"),
    ],
)
def test_what_cannot_go_back_is_not_kept(block: dict[str, Json]) -> None:
    """A thought without its proof would be refused."""
    assert "" == kept([thought(block)], "https://x")
    assert [thought(SIGNED)] == placed(kept([thought(block), thought(SIGNED)], "https://x"), "https://x")


@pytest.mark.parametrize(
    "opaque",
    [
        pytest.param(kept([thought(SIGNED)], "https://y"), id="another endpoint's"),
        pytest.param('{"thoughts":[]}', id="no mark"),
        pytest.param('{"of":"https://x"}', id="no thoughts"),
        pytest.param('[{"type":"reasoning.encrypted"}]', id="another shape"),
        pytest.param("c2ln", id="no JSON"),
        pytest.param("", id="nothing"),
    ],
)
def test_what_others_kept_is_not_ours(opaque: str) -> None:
    """What another endpoint wants back is no thought of this one's."""
    assert [] == list(placed(opaque, "https://x"))
