"""A reply's thoughts as the Messages API wants them back: unchanged, in their places, and only where they came from.

A thought bears a signature, or is encrypted as a whole. One that has neither can't be sent back.
"""

import json
from collections.abc import Iterable, Sequence

from msgspec import Struct

from registry.messages import Json
from registry.wire.surrogates import encoded

_PROOFS = {"thinking": "signature", "redacted_thinking": "data"}
"""The kinds of blocks that are thoughts, with the field that makes them good for sending back."""


class Thought(Struct, frozen=True, kw_only=True):
    """A block as it came. Before it stand so many characters of the reply's text and so many of its calls."""

    block: dict[str, Json]
    text: int
    calls: int


def is_thought(block: dict[str, Json]) -> bool:
    return block.get("type") in tuple(_PROOFS)


def kept(thoughts: Iterable[Thought], endpoint: str) -> str:
    """The thoughts as the text that a message keeps, marked with whose they are; "" for none."""
    good = [{"block": each.block, "text": each.text, "calls": each.calls} for each in thoughts if _is_proven(each.block)]
    return encoded({"of": endpoint, "thoughts": good}).decode() if good else ""


def placed(opaque: str, endpoint: str) -> Sequence[Thought]:
    """The thoughts in what a message keeps. There are none in what another endpoint made."""
    if not (opaque and endpoint):
        return ()
    try:
        value = json.loads(opaque)
    except ValueError:
        return ()
    match value:
        case {"of": of, "thoughts": list(thoughts)} if of == endpoint:
            return [Thought(**each) for each in thoughts]
    return ()


def _is_proven(block: dict[str, Json]) -> bool:
    proof = block.get(_PROOFS[block["type"]])
    return isinstance(proof, str) and bool(proof)
