"""Keeping what is sent to a model inside its window, and legal.

Tokens are estimated, not counted: a tokenizer for every model would cost more than the few per cent it wins. Everything here
is pure and works on copies; the record of a conversation is never edited.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import orjson

from registry.errors import WindowExceeded
from registry.messages import AssistantMessage, Message, SystemMessage, ToolMessage, ToolSpec, UserMessage

NO_RESULT = "no result recorded"
"""What a model reads in place of a result that never came."""

DEFAULT_RESERVE = 8_192
"""Tokens kept free for the reply, where a quarter of the window allows it."""

_FRAME = 4
"""Tokens that a message or a call costs beside its texts."""


def estimate_tokens(text: str) -> int:
    """About how many tokens `text` takes, rather too many than too few.

    Three ASCII characters make a token; of all other text, two bytes of UTF-8 do. So a Cyrillic letter counts 1, a Chinese,
    Japanese or Korean one 1.5, an emoji 2.
    """
    if text.isascii():
        return -(-len(text) // 3)
    plain = len(text.encode("ascii", "ignore"))
    other = len(text.encode("utf-8", "surrogatepass")) - plain
    return -(-(2 * plain + 3 * other) // 6)


@lru_cache(maxsize=4096)
def message_tokens(message: Message) -> int:
    """The estimate of one message with everything that may be sent of it: text, reasoning, calls and their arguments."""
    tokens = _FRAME + estimate_tokens(message.text)
    if isinstance(message, AssistantMessage):
        tokens += estimate_tokens(message.opaque or message.reasoning)
        tokens += sum(_FRAME + estimate_tokens(f"{call.id}{call.name}{call.arguments}{call.extra}") for call in message.calls)
    elif isinstance(message, ToolMessage):
        tokens += estimate_tokens(message.call_id)
    return tokens


@lru_cache(maxsize=1024)
def _tool_tokens(tool: ToolSpec) -> int:
    return 2 * _FRAME + estimate_tokens(f"{tool.name}{tool.description}{orjson.dumps(tool.parameters).decode()}")


def request_tokens(messages: Iterable[Message], tools: Iterable[ToolSpec] = ()) -> int:
    """The estimate of a whole request: messages and tool schemas."""
    return sum(map(message_tokens, messages)) + sum(map(_tool_tokens, tools))


def cut(text: str, limit_chars: int) -> str:
    """The first `limit_chars` characters of `text`, with a mark that says how many more there were."""
    if len(text) <= limit_chars:
        return text
    kept = max(0, limit_chars)
    return f"{text[:kept]}[… {len(text) - kept} characters cut]"


def fit_texts(texts: Sequence[str], budget_tokens: int) -> list[str]:
    """The texts, together within `budget_tokens`: small ones whole, large ones cut to equal shares of what is left.

    Where a share is too small for even the mark of a cut, that text becomes empty.
    """
    fitted = list(texts)
    left = max(0, budget_tokens)
    by_size = sorted(range(len(texts)), key=lambda at: estimate_tokens(texts[at]))
    for nth, at in enumerate(by_size):
        fitted[at] = _cut_to_tokens(texts[at], left // (len(texts) - nth))
        left -= estimate_tokens(fitted[at])
    return fitted


def _cut_to_tokens(text: str, tokens: int) -> str:
    """As much of `text` as fits, its mark included."""
    if estimate_tokens(text) <= tokens:
        return text
    low, high = -1, min(len(text), 3 * tokens)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(cut(text, middle)) <= tokens:
            low = middle
        else:
            high = middle - 1
    return "" if low < 0 else cut(text, low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """That messages were left out or cut: how many there were, and how many of them are still there."""

    original_messages: int
    kept_messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """Messages that may be sent. `compaction` is None when nothing had to go."""

    messages: tuple[Message, ...]
    compaction: Compaction | None = None


class ContextGuard:
    """Keeps a conversation inside a model's window.

    `window` is the model's, in tokens, None when unknown: then nothing is trimmed. `reserve` is what the reply may take,
    `DEFAULT_RESERVE` by default and never more than a quarter of the window.
    """

    def __init__(self, window: int | None, reserve: int | None = None) -> None:
        self.window = window
        self.budget = None if window is None else window - min(DEFAULT_RESERVE if reserve is None else reserve, window // 4)

    def fit(self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> Fitted:
        """The messages as they may be sent: each call with its result, all within the budget.

        The system prompt, pinned messages and the newest ones stay; the oldest of the others go first, a call and its results
        together. What alone is too long is cut, with a mark. Raises `WindowExceeded` when not even that would fit, which takes
        a window smaller than the tools' schemas and the frames of those messages.
        """
        whole = repaired(messages)
        if self.budget is None or request_tokens(whole, tools) <= self.budget:
            return Fitted(messages=whole)
        room = self.budget - request_tokens((), tools)
        kept = _trimmed(whole, room)
        return Fitted(messages=kept, compaction=Compaction(original_messages=len(whole), kept_messages=len(kept)))


def repaired(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with every call directly followed by its one result, in call order.

    A call without a result gets one that says so; a result without a call is dropped. Whole ones come back as they are.
    """
    if _is_whole(messages):
        return tuple(messages)
    results: dict[str, list[Message]] = {}
    for message in messages:
        if isinstance(message, ToolMessage):
            results.setdefault(message.call_id, []).append(message)
    whole: list[Message] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            continue
        whole.append(message)
        for call in message.calls if isinstance(message, AssistantMessage) else ():
            came = results.get(call.id)
            whole.append(came.pop(0) if came else ToolMessage(call_id=call.id, name=call.name, text=NO_RESULT))
    return tuple(whole)


def _is_whole(messages: Sequence[Message]) -> bool:
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            if not waiting or waiting.pop(0) != message.call_id:
                return False
        elif waiting:
            return False
        elif isinstance(message, AssistantMessage):
            waiting = [call.id for call in message.calls]
    return not waiting


def _trimmed(messages: tuple[Message, ...], room: int) -> tuple[Message, ...]:
    """What stays of whole messages in `room` tokens, in the order it had."""
    units = _units(messages)
    must = _indispensable(units, room)
    sizes = [request_tokens(unit) for unit in units]
    left = room - sum(sizes[at] for at in must)
    if left < 0:
        return _led_by_user(_shrunk(tuple(message for at in sorted(must) for message in units[at]), room), room)
    kept = set(must)
    for at in reversed(range(len(units))):
        if at in kept:
            continue
        if sizes[at] > left - _CUT_MARK_TOKENS:
            break
        left -= sizes[at]
        kept.add(at)
    return _led_by_user(tuple(message for at in sorted(kept) for message in units[at]), room)


def _units(messages: tuple[Message, ...]) -> list[tuple[Message, ...]]:
    """What goes or stays together: a message with the results that follow it."""
    units: list[list[Message]] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            units[-1].append(message)
        else:
            units.append([message])
    return [tuple(unit) for unit in units]


def _indispensable(units: list[tuple[Message, ...]], room: int) -> set[int]:
    """The system prompt, the newest unit, and the pins: when those exceed half the room, the oldest after the first go."""
    pins = [at for at, (first, *_) in enumerate(units) if isinstance(first, UserMessage) and first.pinned]
    while len(pins) > 1 and 2 * sum(request_tokens(units[at]) for at in pins) > room:
        del pins[1]
    system = [at for at, (first, *_) in enumerate(units) if isinstance(first, SystemMessage)]
    return {*system, *pins, len(units) - 1}


_CUT_MARK = UserMessage(text="[… earlier messages cut]")
_CUT_MARK_TOKENS = message_tokens(_CUT_MARK)


def _led_by_user(messages: tuple[Message, ...], room: int) -> tuple[Message, ...]:
    """Conversations begin with a user: where that message is gone, a mark takes its place, room permitting."""
    lead = next((at for at, message in enumerate(messages) if not isinstance(message, SystemMessage)), len(messages))
    if lead == len(messages) or isinstance(messages[lead], UserMessage):
        return messages
    if request_tokens(messages) + _CUT_MARK_TOKENS > room:
        return messages
    return (*messages[:lead], _CUT_MARK, *messages[lead:])


def _shrunk(messages: tuple[Message, ...], room: int) -> tuple[Message, ...]:
    """The same messages, cut to `room`: their texts first, then their reasoning, at last the arguments of their calls."""
    quiet = tuple(_without_reasoning(message) for message in messages)
    bare = tuple(_without_arguments(message) for message in quiet)
    for lean in (messages, quiet, bare):
        frame = request_tokens(replace(message, text="") for message in lean)
        if 2 * frame <= room or lean is bare:
            texts = fit_texts([message.text for message in lean], room - frame)
            fitted = tuple(replace(message, text=text) for message, text in zip(lean, texts, strict=True))
            if request_tokens(fitted) <= room:
                return fitted
    raise WindowExceeded("the context guard", f"{len(messages)} messages that must stay need more than {room} tokens")


def _without_reasoning(message: Message) -> Message:
    if not isinstance(message, AssistantMessage) or not (message.reasoning or message.opaque):
        return message
    return replace(message, reasoning="", opaque="")


def _without_arguments(message: Message) -> Message:
    if not isinstance(message, AssistantMessage):
        return message
    calls = tuple(call if len(call.arguments) <= 40 else replace(call, arguments="{}") for call in message.calls)
    return replace(message, calls=calls)
