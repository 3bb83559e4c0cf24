"""The names of tools as an endpoint takes them, and back.

A tool may be named as its maker likes (`calendar.create`), while endpoints take letters, digits, `_` and `-`, up to some length.
So on the wire it goes by a name that they take, in whatever the request says of it; its calls come back under its own.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from registry.digests import digest
from registry.messages import AssistantMessage, Message, Piece, Reply, Request, ToolCall, ToolSpec
from registry.tools.arguments import canonical_name

REMEMBERED = 2048
"""How many names are kept, how many sets of tools, how many tools under other names, and how many messages that call them so."""

P = TypeVar("P", bound=Piece)

_LEGAL = re.compile(r"[A-Za-z0-9_-]+")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+")
_MARK = 8
"""Digits that set a name apart from others which would look the same."""


class Naming(Struct, frozen=True):
    """How the tools of one request are called on the wire. `wire` and `own` hold those that go by another name there."""

    wire: Mapping[str, str]
    own: Mapping[str, str]

    def lowered(self, request: Request) -> Request:
        """The request with the names that the endpoint takes."""
        if not self.wire:
            return request
        return replace(
            request,
            messages=tuple(map(self._message, request.messages)),
            tools=tuple(_named(tool, self.wire.get(tool.name, tool.name)) for tool in request.tools),
            tool_choice=self.wire.get(request.tool_choice, request.tool_choice),
        )

    def lifted(self, piece: P) -> P:
        """A piece of the reply with the tools' own names. One that the model made up stays as it is."""
        if not (self.own and isinstance(piece, Reply) and piece.calls):
            return piece
        return replace(piece, calls=tuple(replace(call, name=self._own_name(call.name)) for call in piece.calls))

    def _message(self, message: Message) -> Message:
        if not isinstance(message, AssistantMessage) or all(call.name not in self.wire for call in message.calls):
            return message
        return _calling(message, tuple(self.wire.get(call.name, call.name) for call in message.calls))

    def _own_name(self, said: str) -> str:
        # No name on the wire has a dot, so a known prefix before one is the model's.
        return self.own.get(said) or self.own.get(canonical_name(said), said)


AS_THEY_ARE = Naming({}, {})


def naming(offered: tuple[ToolSpec, ...], called: Sequence[ToolCall], longest: int) -> Naming:
    """How an endpoint that takes names of up to `longest` characters is told of these tools and calls.

    A tool's legal name stays as it is. Of several names that would look the same the first keeps the plain form: legal tools come
    before others, and tools before what is only called. So what a transcript adds changes no name before it.
    """
    if _are_legal(offered, longest) and all([_is_legal(call.name, longest) for call in called]):
        return AS_THEY_ARE
    tools = sorted([tool.name for tool in offered], key=lambda name: not _is_legal(name, longest))
    own: dict[str, str] = {}
    for name in dict.fromkeys((*tools, *[call.name for call in called])):
        own[next(form for form in _forms(name, longest) if form not in own)] = name
    changed = {form: name for form, name in own.items() if form != name}
    return Naming({name: form for form, name in changed.items()}, changed)


@lru_cache(REMEMBERED)
def _are_legal(tools: tuple[ToolSpec, ...], longest: int) -> bool:
    return all(_is_legal(tool.name, longest) for tool in tools)


@lru_cache(REMEMBERED)
def _is_legal(name: str, longest: int) -> bool:
    return len(name) <= longest and _LEGAL.fullmatch(name) is not None


def _forms(name: str, longest: int) -> Iterator[str]:
    """What the name may be called, best first: the plain form if it is short enough, then marked ones without end."""
    plain = _ILLEGAL.sub("_", name) or "_"
    if len(plain) <= longest:
        yield plain
    mark = name
    while True:
        mark = digest(mark)[:_MARK]
        yield f"{plain[: longest - _MARK - 1]}_{mark}"


@lru_cache(REMEMBERED)
def _calling(message: AssistantMessage, names: tuple[str, ...]) -> AssistantMessage:
    calls = zip(message.calls, names, strict=True)
    return replace(message, calls=tuple(replace(call, name=name) for call, name in calls))


@lru_cache(REMEMBERED)
def _named(tool: ToolSpec, name: str) -> ToolSpec:
    """The tool under this name, the same object each time: wire forms are cached by it."""
    return tool if tool.name == name else replace(tool, name=name)
