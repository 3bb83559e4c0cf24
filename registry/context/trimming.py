"""What goes when not everything fits, and what stays whatever else goes."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

from msgspec import Struct, field
from msgspec.structs import replace

from registry.context.condensing import handle_of
from registry.context.cutting import READ_RESULT, fit_texts
from registry.context.estimating import message_tokens, request_tokens
from registry.context.framing import unframed
from registry.context.pairing import Unit, is_result, units
from registry.errors import WindowExceeded
from registry.messages import AssistantMessage, Message, SystemMessage, UserMessage

_STEPS = 3
"""A conversation that goes on gives way in steps of such a part of the room: its start is then the same for many laps."""

_MARK_TOKENS = 20
_NAMES_TOKENS = 120
"""What the mark of a gap may take, and the handles that it names."""


class Trimming(Struct, frozen=True, kw_only=True):
    """What is to be had of messages in `room` tokens. `handles` are as in `ContextGuard.govern`.

    A conversation that `goes_on` gives way in steps, and its pins leave half of the room to the rest.
    """

    room: int
    handles: Mapping[str, str] = field(default_factory=dict)
    goes_on: bool = False

    def trimmed(self, messages: Sequence[Message]) -> tuple[tuple[Message, ...], int]:
        """What stays of `repaired` messages, in the order they had, and how many are gone: a mark stands for those.

        Raises `WindowExceeded` when not even what must stay can be cut to fit.
        """
        whole = units(messages)
        pins = self._pins(whole)
        system = [at for at, (first, *_) in enumerate(whole) if isinstance(first, SystemMessage)]
        must = {*system, *pins, len(whole) - 1}
        if not self.goes_on:
            return self._without_oldest(whole, must)
        shorter = self._shorter(pins)
        known = {pin.text: handle_of(pins[at], self.handles) for at, pin in shorter.items()}
        left = [(shorter[at],) if at in pins else unit for at, unit in enumerate(whole)]
        return replace(self, handles={**self.handles, **known})._without_oldest(left, must)

    def _pins(self, whole: Sequence[Unit]) -> dict[int, Message]:
        """The pins by their places: when those exceed half the room, the oldest after the first go."""
        pins: dict[int, Message] = {
            at: first for at, (first, *_) in enumerate(whole) if isinstance(first, UserMessage) and first.pinned
        }
        for at in [*pins][1:]:
            if 2 * request_tokens(pins.values()) > self.room:
                del pins[at]
        return pins

    def _shorter(self, pins: Mapping[int, Message]) -> dict[int, Message]:
        """The pins cut to half of the room, however long the rest is, so that they don't change from lap to lap."""
        frames = request_tokens(replace(pin, text="") for pin in pins.values())
        named = [handle_of(pin, self.handles) for pin in pins.values()]
        texts = fit_texts([pin.text for pin in pins.values()], self.room // 2 - frames, named)
        return {at: replace(pin, text=text) for (at, pin), text in zip(pins.items(), texts, strict=True)}

    def _without_oldest(self, whole: Sequence[Unit], must: set[int]) -> tuple[tuple[Message, ...], int]:
        gone = self._dropped(whole, must)
        kept = [message for at, unit in enumerate(whole) if at not in gone for message in unit]
        lost = [message for at in sorted(gone) for message in whole[at]]
        marked = self._marked(kept, lost, before=sum(map(len, whole[: min(gone)]))) if lost else kept
        return self._fitting(marked) or self._fitting(kept) or self._refused(kept), len(lost)

    def _dropped(self, whole: Sequence[Unit], must: set[int]) -> set[int]:
        """The oldest of what may go, as many as have to."""
        sizes = {at: request_tokens(unit) for at, unit in enumerate(whole)}
        if sum(sizes.values()) <= self.room:
            return set()
        excess = sum(sizes.values()) + self._mark_tokens - self.room
        optional = [at for at in sizes if at not in must]
        step = max(1, self.room // _STEPS)
        in_steps = -(-excess // step) * step
        if self.goes_on and in_steps <= sum(sizes[at] for at in optional):
            excess = in_steps
        gone: set[int] = set()
        for at in optional:
            if excess <= 0:
                break
            gone.add(at)
            excess -= sizes[at]
        return gone

    @property
    def _mark_tokens(self) -> int:
        return _MARK_TOKENS + (min(_NAMES_TOKENS, self.room // 16) if self.handles else 0)

    def _marked(self, kept: Sequence[Message], lost: Sequence[Message], *, before: int) -> list[Message]:
        """What was kept, with a mark for what was lost after the first messages: conversations then begin with a user, too."""
        told = f"{len(lost)} earlier messages cut"
        mark, names = UserMessage(text=f"[… {told}]"), ""
        for handle in (handle_of(message, self.handles) for message in reversed(lost) if is_result(message)):
            names = f"{names}, {handle}" if names and handle else names or handle
            longer = UserMessage(text=f"[… {told}; {READ_RESULT} still has {names}]")
            if message_tokens(longer) > self._mark_tokens:
                break
            mark = longer if names else mark
        return [*kept[:before], mark, *kept[before:]]

    def _fitting(self, messages: Sequence[Message]) -> tuple[Message, ...] | None:
        """The same messages, cut as far as need be: their texts, then their reasoning, at last the arguments of their calls.

        None when nothing of that helps.
        """
        if request_tokens(messages) <= self.room:
            return tuple(messages)
        quiet = [_without_reasoning(message) for message in messages]
        bare = [_without_arguments(message) for message in quiet]
        for lean in (messages, quiet, bare):
            fixed = request_tokens(map(_without_text, lean))
            if 2 * fixed <= self.room or lean is bare:
                fitted = self._cut(lean, self.room - fixed)
                if request_tokens(fitted) <= self.room:
                    return fitted
        return None

    def _cut(self, messages: Sequence[Message], tokens: int) -> tuple[Message, ...]:
        """The messages with their texts cut to so many tokens, those in frames inside their frames."""
        frames = [unframed(message.text) for message in messages]
        named = [handle_of(message, self.handles) for message in messages]
        texts = fit_texts([text for _, text, _ in frames], tokens, named)
        return tuple(
            replace(message, text=f"{begin}{text}{end}")
            for message, text, (begin, _, end) in zip(messages, texts, frames, strict=True)
        )

    def _refused(self, kept: Sequence[Message]) -> NoReturn:
        raise WindowExceeded("the context guard", f"{len(kept)} messages that must stay need more than {self.room} tokens")


def _without_text(message: Message) -> Message:
    begin, _, end = unframed(message.text)
    return replace(message, text=f"{begin}{end}")


def _without_reasoning(message: Message) -> Message:
    if not isinstance(message, AssistantMessage) or not (message.reasoning or message.opaque):
        return message
    return replace(message, reasoning="", opaque="")


def _without_arguments(message: Message) -> Message:
    if not isinstance(message, AssistantMessage):
        return message
    calls = tuple(call if len(call.arguments) <= 40 else replace(call, arguments="{}") for call in message.calls)
    return replace(message, calls=calls)
