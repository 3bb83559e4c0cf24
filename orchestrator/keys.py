"""Content digests of what is asked: the part of a call key that says what a call is, whenever and wherever it is made."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache

from registry.digests import digest
from registry.messages import Json, Message, Request, ToolCall, ToolSpec


def request_digest(request: Request) -> str:
    """Of everything that can change the reply. The digests of messages and tools are cached, so a lap pays for what is new."""
    wanted = request.response_format
    return digest(
        [
            [_message_digest(message) for message in request.messages],
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


@lru_cache(maxsize=8192)
def _message_digest(message: Message) -> str:
    said = asdict(message)
    # Providers make ids up anew each time.
    said["calls"] = [_told({**call, "id": ""}) for call in said.get("calls", ())]
    return digest(_told({**said, "call_id": ""}))


def _told(said: Mapping[str, Json]) -> Json:
    """What there is to tell. A field that is added one day changes no digest of a message that has nothing in it."""
    return {field: value for field, value in said.items() if value}


@lru_cache(maxsize=1024)
def _spec_digest(spec: ToolSpec) -> str:
    return digest([spec.name, spec.description, spec.parameters])
