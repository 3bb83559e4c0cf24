"""The gate that every transcript passes before it is sent: providers refuse what breaks these rules, for ever after."""

from collections.abc import Iterable, Sequence

from registry.errors import DagwrightError
from registry.messages import AssistantMessage, Message, SystemMessage, ToolMessage


class IllegalRequest(DagwrightError):
    """A transcript that no provider takes. It is our bug, never the model's. `place` is the index of the message."""

    def __init__(self, why: str, *, place: int) -> None:
        super().__init__(f"message {place} makes the request illegal: {why}")
        self.why, self.place = why, place


def legal(messages: Sequence[Message]) -> None:
    """Raise IllegalRequest unless the transcript is one that any provider takes. Nothing is edited.

    It isn't empty; a system message stands at the head only; the results of an assistant message's calls follow it
    directly, in any order, exactly one for each call.
    """
    if not messages:
        raise IllegalRequest("there is no message at all", place=0)
    waiting: frozenset[str] = frozenset()
    for place, message in enumerate(messages):
        waiting = _awaited_after(message, place, waiting)
    if waiting:
        raise IllegalRequest(f"results are due after it: {_listed(waiting)}", place=len(messages) - 1)


def _awaited_after(message: Message, place: int, waiting: frozenset[str]) -> frozenset[str]:
    """The calls whose results are due after this message, when those of `waiting` are due before it."""
    match message:
        case ToolMessage(call_id=call):
            if call not in waiting:
                raise IllegalRequest(f"a result for {call!r}, which the calls before it do not await", place=place)
            return waiting - {call}
        case _ if waiting:
            raise IllegalRequest(f"a {message.role} message where results are due: {_listed(waiting)}", place=place)
        case SystemMessage() if place:
            raise IllegalRequest("a system message after the head", place=place)
        case AssistantMessage(calls=calls) if calls:
            ids = frozenset(call.id for call in calls)
            if len(ids) < len(calls):
                raise IllegalRequest("two calls with one id", place=place)
            return ids
    return waiting


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in sorted(names))
