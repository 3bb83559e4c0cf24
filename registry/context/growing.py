"""A conversation that goes on: while there is room for all of it, a lap costs no more than what is new in it."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from registry.context.estimating import request_tokens
from registry.context.guard import NO_HANDLES, ContextGuard, Fitted, as_read
from registry.context.pairing import is_whole
from registry.messages import Message, ToolSpec


class _Past(Struct, frozen=True):
    """Messages that need no repair, as they are and as they are shown, and the tokens of either."""

    messages: tuple[Message, ...] = ()
    shown: tuple[Message, ...] = ()
    tokens: int = 0
    shown_tokens: int = 0


class Growing:
    """One conversation's own: `govern` is the guard's, but remembers what it made of the messages so far.

    What a result can be read by must not change while `handles` stays the same object.
    """

    def __init__(self, guard: ContextGuard) -> None:
        self._guard, self._past, self._handles = guard, _Past(), NO_HANDLES

    def govern(self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, handles: Mapping[str, str]) -> Fitted:
        """What the guard says of the messages. Raises as it does."""
        whole, past = tuple(messages), self._past
        if handles is not self._handles or whole[: len(past.messages)] != past.messages:
            past = _Past()
        new = whole[len(past.messages) :]
        if is_whole(new):
            shown, tokens, shown_tokens = as_read(new, handles), past.tokens, past.shown_tokens
            if self._guard.budget is not None:  # otherwise nobody asks how many there are
                added = request_tokens(new)
                tokens += added
                shown_tokens += added if shown == new else request_tokens(shown)
            self._past, self._handles = _Past(whole, past.shown + shown, tokens, shown_tokens), handles
            if self._guard.has_room(tokens, shown_tokens, tools):
                return Fitted(messages=self._past.shown)
        return self._guard.govern(whole, tools, handles=handles)
