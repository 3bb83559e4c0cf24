"""Calls and their results: which belong together, and what takes the place of one that is missing."""

from collections.abc import Sequence

from registry.messages import AssistantMessage, Message, ToolMessage, UserMessage

NO_RESULT = "no result recorded"
"""What a model reads in place of a result that never came."""

Unit = tuple[Message, ...]
"""What goes or stays together: a message with the results that follow it."""


def is_result(message: Message) -> bool:
    """Whether it is a call's observation, in whichever dialect."""
    match message:
        case ToolMessage():
            return True
        case UserMessage(call_id=call_id):
            return bool(call_id)
        case _:
            return False


def repaired(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with every call directly followed by its one result, in call order.

    A call without a result gets one that says so; a result without a call is dropped. Whole ones come back as they are.
    """
    if is_whole(messages):
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


def is_whole(messages: Sequence[Message]) -> bool:
    """Whether there is nothing to repair."""
    waiting: list[str] = []
    for message in messages:
        match message:
            case ToolMessage(call_id=call_id):
                if not waiting or waiting.pop(0) != call_id:
                    return False
            case _ if waiting:
                return False
            case AssistantMessage(calls=calls) if calls:
                waiting = [call.id for call in calls]
            case _:
                pass
    return not waiting


def units(messages: Sequence[Message]) -> list[Unit]:
    """The messages in units. They must be `repaired`."""
    found: list[list[Message]] = []
    for message in messages:
        if found and is_result(message) and isinstance(found[-1][0], AssistantMessage):
            found[-1].append(message)
        else:
            found.append([message])
    return [tuple(unit) for unit in found]
