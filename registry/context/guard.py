"""The guard of a model's window: what of a conversation is sent."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from registry.context.condensing import condensed, handle_of
from registry.context.cutting import LONGEST_RESULT, previewed
from registry.context.estimating import estimate_tokens, request_tokens
from registry.context.framing import framed, tag
from registry.context.pairing import is_result, repaired
from registry.context.trimming import Trimming
from registry.messages import Message, ToolSpec, UserMessage
from registry.usage import Usage

DEFAULT_RESERVE = 8_192
"""Tokens kept free for the reply, where a quarter of the window allows it."""

PRESSURE = 0.7
"""The part of the budget up to which every result is sent as it is."""

NO_HANDLES: Mapping[str, str] = {}

EMPTY = "empty result"


class Compaction(Struct, frozen=True, kw_only=True):
    """That messages were left out or cut: how many there were, and how many of them are still there."""

    original_messages: int
    kept_messages: int


class Fitted(Struct, frozen=True, kw_only=True):
    """Messages that may be sent. `compaction` is None when none had to go; `usage` is what a summary of those cost."""

    messages: tuple[Message, ...]
    compaction: Compaction | None = None
    usage: Usage = Usage()


class ContextGuard:
    """Keeps a conversation inside a model's window.

    `window` is the model's, in tokens, None when unknown: then nothing is trimmed. `reserve` is what the reply may take,
    `DEFAULT_RESERVE` by default and never more than a quarter of the window.
    """

    def __init__(self, window: int | None, reserve: int | None = None) -> None:
        self.window = window
        self.budget = None if window is None else window - min(DEFAULT_RESERVE if reserve is None else reserve, window // 4)

    def holds(self, text: str) -> bool:
        """Whether the text is short enough never to be cut in a conversation that begins with it."""
        return self.budget is None or 3 * estimate_tokens(text) <= self.budget

    def fit(self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> Fitted:
        """The messages as they may be sent once: each call with its result, all within the budget.

        The system prompt, pinned messages and the newest ones stay; the oldest of the others go first, a call and its results
        together. What alone is too long is cut, with a mark. Raises `WindowExceeded` when not even that would fit, which takes
        a window smaller than the tools' schemas and the frames of those messages.
        """
        whole = repaired(messages)
        if self.budget is None:
            return Fitted(messages=whole)
        return _trimmed(whole, Trimming(room=self.budget - request_tokens((), tools)))

    def govern(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = (), *, handles: Mapping[str, str] = NO_HANDLES
    ) -> Fitted:
        """The messages of a conversation that goes on, as they may be sent in its next lap.

        Besides what `fit` does, in this order: calls get their results, old results become one line each where the budget is
        under pressure, long ones a preview, and all of them one shape; then the oldest messages go. All of it in steps, so that
        the start of a request is nearly always the start of the next one. `handles` are what the whole of a text can be read
        by: a result goes by its call's id, anything else by its own text. Raises as `fit` does.
        """
        whole = repaired(messages)
        if self.budget is None:
            return Fitted(messages=as_read(whole, handles))
        taken = request_tokens((), tools)
        lines = condensed(whole, int(PRESSURE * self.budget) - taken, handles)
        return _trimmed(as_read(lines, handles), Trimming(room=self.budget - taken, handles=handles, goes_on=True))

    def has_room(self, tokens: int, shown: int, tools: Sequence[ToolSpec]) -> bool:
        """Whether `govern` leaves messages of so many `tokens` all there, which take `shown` in their one shape."""
        if self.budget is None:
            return True
        taken = request_tokens((), tools)
        return tokens + taken <= int(PRESSURE * self.budget) and shown + taken <= self.budget


def _trimmed(whole: tuple[Message, ...], trimming: Trimming) -> Fitted:
    if request_tokens(whole) <= trimming.room:
        return Fitted(messages=whole)
    kept, lost = trimming.trimmed(whole)
    return Fitted(messages=kept, compaction=Compaction(original_messages=len(whole), kept_messages=len(whole) - lost))


def as_read(messages: Sequence[Message], handles: Mapping[str, str]) -> tuple[Message, ...]:
    """The messages with all results in the one shape that they have."""
    return tuple([_result(message, handle_of(message, handles)) if is_result(message) else message for message in messages])


@lru_cache(maxsize=1024)
def _result(message: Message, handle: str) -> Message:
    """A result in the one shape that all have: never blank, never longer than a preview where the whole can be read by a handle,
    and in a frame where no protocol keeps it apart from what a user says."""
    text = message.text if message.text.strip() else EMPTY
    if handle and len(text) > LONGEST_RESULT:
        text = previewed(text, handle)
    if isinstance(message, UserMessage):
        text = framed(text, tag("result", handle, message.call_id, text))
    return message if text == message.text else replace(message, text=text)
