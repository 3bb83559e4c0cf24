"""Content digests of what is asked: the part of a call key that says what a call is, whenever and wherever it is made."""

from functools import lru_cache

from msgspec.structs import asdict

from registry.digests import digest
from registry.messages import Json, Message, Request, SystemMessage, ToolCall, ToolSpec


class Digests:
    """The digests of one conversation's requests. What a request has in common with the start of the one before is known."""

    def __init__(self) -> None:
        self._messages: tuple[Message, ...] = ()
        self._said: list[str] = []

    def of(self, request: Request) -> str:
        """The digest of everything that can change the reply."""
        messages, known = request.messages, self._messages
        while messages[: len(known)] != known:
            known = known[:-1]
        self._messages = messages
        self._said = [*self._said[: len(known)], *map(_message_digest, messages[len(known) :])]
        wanted = request.response_format
        return digest(
            [
                self._said,
                list(map(_spec_digest, request.tools)),
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
    return _prompt_digest(message) if isinstance(message, SystemMessage) else _digest_of(message)


@lru_cache(maxsize=64)
def _prompt_digest(prompt: SystemMessage) -> str:
    """Of what is the same for all steps of a plan."""
    return _digest_of(prompt)


def _digest_of(message: Message) -> str:
    # Providers make ids up anew each time.
    said = _told(message, but="call_id")
    said["role"] = message.role
    if "calls" in said:
        said["calls"] = [_told(call, but="id") for call in said["calls"]]
    return digest(said)


def _told(what: Message | ToolCall, *, but: str) -> dict[str, Json]:
    """What there is to tell. A field that is added one day changes no digest of a message that has nothing in it."""
    return {field: value for field, value in asdict(what).items() if value and field != but}


@lru_cache(maxsize=1024)
def _spec_digest(spec: ToolSpec) -> str:
    return digest([spec.name, spec.description, spec.parameters])
