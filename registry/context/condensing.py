"""Old results as one line each, which still says where the whole can be read."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from registry.context.cutting import READ_RESULT
from registry.context.estimating import message_tokens
from registry.context.pairing import is_result
from registry.messages import Message, ToolMessage, UserMessage

KEPT_RESULTS = 10
"""So many of the newest results stay as they are."""

BLOCK = 5
"""At least so many are shortened at once."""

_LINE = 120
"""Characters of a result that its line quotes. One that is hardly longer stays whole."""


def handle_of(message: Message, handles: Mapping[str, str]) -> str:
    """What the whole of a message can be read by: a result goes by its call's id, anything else by its own text. "" for none."""
    match message:
        case ToolMessage(call_id=name):
            pass
        case UserMessage(call_id=name) if name:
            pass
        case _:
            name = message.text
    return handles.get(name, "")


def condensed(messages: Sequence[Message], comfortable: int, handles: Mapping[str, str]) -> tuple[Message, ...]:
    """The messages with old results in one line each, where they take more than `comfortable` tokens.

    Each time that a growing conversation comes to that size, all its results but the newest are shortened at once, and then no
    more of them until it has come there again and a block of them is old: what a provider has cached is lost only then. The
    same messages always give the same lines, and one more message seldom changes any.
    """
    short: list[Message] = []
    results: list[int] = []
    shortened, size = 0, 0
    for message in messages:
        if is_result(message):
            results.append(len(short))
        short.append(message)
        size += message_tokens(message)
        old = results[shortened:-KEPT_RESULTS]
        if size <= comfortable or len(old) < BLOCK:
            continue
        for at in old:
            line = _in_a_line(short[at], handles)
            size += message_tokens(line) - message_tokens(short[at])
            short[at] = line
        shortened += len(old)
    return tuple(short)


def _in_a_line(message: Message, handles: Mapping[str, str]) -> Message:
    start = " ".join(message.text[:_LINE].split())
    handle = handle_of(message, handles)
    where = f'; {READ_RESULT}("{handle}") has the whole' if handle else ""
    line = f"{start} [… an older result of {len(message.text)} characters, shortened{where}]"
    return replace(message, text=line) if len(line) < len(message.text) else message
