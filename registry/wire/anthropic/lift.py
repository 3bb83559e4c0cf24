"""From the JSON of the Messages API to a neutral Reply.

Thinking is kept twice: as `reasoning` for us, and as it came for the endpoint. A whole reply holds the arguments of a call as
a value, so their text is written anew here, while a stream gives it as the model wrote it.
"""

import json
from collections.abc import Collection, Iterator

from registry.errors import Garbled
from registry.messages import Json, Reply, ToolCall
from registry.wire.anthropic.faults import fault_inside
from registry.wire.anthropic.thoughts import Thought, is_thought, kept
from registry.wire.decoding import decoded
from registry.wire.faults import readable
from registry.wire.lift import finish_of, model_of, unique, written
from registry.wire.metering import usage_of
from registry.wire.surrogates import mended


def lift(body: bytes, *, endpoint: str, taken: Collection[str] = ()) -> Reply:
    """The reply in a whole answer. `taken` are the call ids of the transcript, which the new ones must not repeat.

    Raises Garbled, or the typed error that the endpoint put into its answer.
    """
    value = decoded(body, endpoint)
    if not isinstance(value, dict):
        raise Garbled(endpoint, f"JSON, but no object: {readable(body)}")
    if value.get("error"):
        raise fault_inside(endpoint, value)
    if not isinstance(value.get("content"), list):
        raise Garbled(endpoint, f"no content in {readable(body)}")
    blocks = [block for block in value["content"] if isinstance(block, dict)]
    calls = unique(tuple(_call(block) for block in blocks if block.get("type") == "tool_use"), taken)
    usage = usage_of(value.get("usage"))
    return Reply(
        text=mended("".join(said(block, "text") for block in blocks)),
        calls=calls,
        reasoning=mended("".join(said(block, "thinking") for block in blocks)),
        opaque=kept(_thoughts(blocks), endpoint),
        finish=finish_of(value.get("stop_reason"), endpoint, calls=bool(calls), refused=False, usage=usage),
        usage=usage,
        model=model_of(value),
    )


def _thoughts(blocks: list[dict[str, Json]]) -> Iterator[Thought]:
    text = calls = 0
    for block in blocks:
        if is_thought(block):
            yield Thought(block=block, text=text, calls=calls)
        text += len(mended(said(block, "text")))
        calls += block.get("type") == "tool_use"


def said(block: dict[str, Json], field: str) -> str:
    """The text under this name, "" when there is none."""
    text = block.get(field)
    return text if isinstance(text, str) else ""


def title(block: dict[str, Json], field: str) -> str:
    """An id or a name: text that is whole at once."""
    return mended(said(block, field).strip())


def input_text(value: Json) -> str:
    """The arguments of a call as JSON text, "" for none."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if value else ""


def _call(block: dict[str, Json]) -> ToolCall:
    return ToolCall(id=title(block, "id"), name=title(block, "name"), arguments=written(input_text(block.get("input"))))
