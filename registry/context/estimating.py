"""How many tokens a request takes, about."""

from collections.abc import Iterable
from functools import lru_cache

import orjson

from registry.messages import AssistantMessage, Message, ToolMessage, ToolSpec

_FRAME = 4
"""Tokens that a message or a call costs beside its texts."""


def estimate_tokens(text: str) -> int:
    """About how many tokens `text` takes, rather too many than too few.

    Three ASCII characters make a token; of all other text, two bytes of UTF-8 do. So a Cyrillic letter counts 1, a Chinese,
    Japanese or Korean one 1.5, an emoji 2.
    """
    return -(-len(text) // 3) if text.isascii() else _mixed_tokens(text)


@lru_cache(maxsize=4096)
def _mixed_tokens(text: str) -> int:
    plain = len(text.encode("ascii", "ignore"))
    other = len(text.encode("utf-8", "surrogatepass")) - plain
    return -(-(2 * plain + 3 * other) // 6)


def message_tokens(message: Message) -> int:
    """The estimate of one message with everything that may be sent of it: text, reasoning, calls and their arguments."""
    tokens = _FRAME + estimate_tokens(message.text)
    match message:
        case AssistantMessage(calls=calls):
            tokens += estimate_tokens(message.opaque or message.reasoning)
            for call in calls:
                tokens += _FRAME + estimate_tokens(f"{call.id}{call.name}{call.arguments}{call.extra}")
        case ToolMessage(call_id=call_id):
            tokens += estimate_tokens(call_id)
        case _:
            pass
    return tokens


@lru_cache(maxsize=1024)
def _tool_tokens(tool: ToolSpec) -> int:
    return 2 * _FRAME + estimate_tokens(f"{tool.name}{tool.description}{orjson.dumps(tool.parameters).decode()}")


def request_tokens(messages: Iterable[Message], tools: Iterable[ToolSpec] = ()) -> int:
    """The estimate of a whole request: messages and tool schemas."""
    return sum(map(message_tokens, messages)) + sum(map(_tool_tokens, tools))
