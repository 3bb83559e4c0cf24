"""Content digests of what is asked: the part of a call key that says what a call is, whenever and wherever it is made."""

from functools import lru_cache

from registry.digests import digest
from registry.messages import AssistantMessage, Json, Message, Request, ToolCall, ToolSpec


class Digests:
    """The digests of one conversation's requests. A message that was in the one before is not looked at again."""

    def __init__(self) -> None:
        # By the identity of each message, which no other can have while that one is kept here.
        self._known: dict[int, tuple[Message, str]] = {}

    def of(self, request: Request) -> str:
        """The digest of everything that can change the reply."""
        told = [self._known.get(id(message)) or (message, _message_digest(message)) for message in request.messages]
        self._known = {id(message): (message, said) for message, said in told}
        wanted = request.response_format
        return digest(
            [
                [said for _, said in told],
                [_spec_digest(spec) for spec in request.tools],
                request.tool_choice,
                None if wanted is None else [wanted.name, wanted.schema],
                request.max_tokens,
                request.temperature,
            ]
        )


def tool_digest(wanted: ToolCall) -> str:
    """Of a tool call, without the provider's id for it."""
    return digest([wanted.name, wanted.arguments])


def _message_digest(message: Message) -> str:
    # Providers make ids up anew each time.
    said = _told(message, but="call_id")
    if isinstance(message, AssistantMessage) and message.calls:
        said["calls"] = [_told(call, but="id") for call in message.calls]
    return digest(said)


def _told(what: Message | ToolCall, *, but: str) -> dict[str, Json]:
    """What there is to tell. A field that is added one day changes no digest of a message that has nothing in it."""
    said = {field: value for field in what.__struct_fields__ if field != but and (value := getattr(what, field))}
    return said if isinstance(what, ToolCall) else {"role": what.role, **said}


@lru_cache(maxsize=1024)
def _spec_digest(spec: ToolSpec) -> str:
    return digest([spec.name, spec.description, spec.parameters])
