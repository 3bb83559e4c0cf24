"""The gate that every transcript passes before it is sent: providers refuse what breaks these rules, for ever after."""

from collections.abc import Iterable, Sequence

from registry.errors import DagwrightError
from registry.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage


class IllegalRequest(DagwrightError):
    """A transcript that no provider takes. It is our bug, never the model's. `place` is the index of the message."""

    def __init__(self, why: str, *, place: int) -> None:
        super().__init__(f"message {place} makes the request illegal: {why}")
        self.why, self.place = why, place


def legal(messages: Sequence[Message]) -> list[ToolCall]:
    """All calls of a transcript. Raises IllegalRequest unless it is one that any provider takes. Nothing is edited.

    It isn't empty; a system message stands at the head only; the results of an assistant message's calls follow it
    directly, in any order, exactly one for each call.
    """
    if not messages:
        raise IllegalRequest("there is no message at all", place=0)
    calls: list[ToolCall] = []
    due: set[str] = set()  # the calls whose results must come next
    for place, message in enumerate(messages):
        if type(message) is ToolMessage and message.call_id in due:
            due.remove(message.call_id)
        elif due or type(message) is ToolMessage or (place and type(message) is SystemMessage):
            raise _out_of_place(message, place, due)
        elif type(message) is AssistantMessage and message.calls:
            due = {call.id for call in message.calls}
            if len(due) < len(message.calls):
                raise IllegalRequest("two calls with one id", place=place)
            calls += message.calls
    if due:
        raise IllegalRequest(f"results are due after it: {_listed(due)}", place=len(messages) - 1)
    return calls


def _out_of_place(message: Message, place: int, due: set[str]) -> IllegalRequest:
    match message:
        case ToolMessage(call_id=call):
            return IllegalRequest(f"a result for {call!r}, which the calls before it do not await", place=place)
        case _ if due:
            return IllegalRequest(f"a {message.role} message where results are due: {_listed(due)}", place=place)
        case _:
            return IllegalRequest("a system message after the head", place=place)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in sorted(names))
