"""Models for tests: one follows a script, one has faults. They need no network, no key and no real time.

    with ScriptedModel([asks("add", a=1, b=2), "The sum is 3."]) as model:
        ...

The block ends with an AssertionError when a line of the script was never used.
"""

import re
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Self

import anyio
import orjson
from msgspec import Struct
from msgspec.structs import replace

from registry.calls import Call
from registry.errors import ModelError, Truncated
from registry.messages import Json, Piece, ReasoningPiece, Reply, Request, TextPiece, ToolCall
from registry.models.layer import ModelLayer
from registry.models.model import Abilities, Model
from registry.usage import Usage

SCRIPTED_USAGE = Usage(requests=1, input_tokens=10, output_tokens=5)
"""What every scripted reply costs that does not say otherwise."""

Line = str | Reply | ModelError
"""One line of a script: a text to say, a reply to give, or an error to raise."""

Script = Sequence[Line] | Callable[[Request], Line]

_WORDS = re.compile(r"\s*\S+\s*")


def says(text: str) -> Reply:
    """A reply of plain text."""
    return Reply(text=text, usage=SCRIPTED_USAGE)


def asks(tool_name: str, /, **arguments: Json) -> Reply:
    """A reply that asks for one tool call. The scripted model gives the call its id."""
    return asks_many((tool_name, arguments))


def asks_many(*calls: tuple[str, Mapping[str, Json]]) -> Reply:
    """A reply that asks for several tool calls, each a name and its arguments."""
    asked = tuple(ToolCall(id="", name=name, arguments=orjson.dumps(dict(args)).decode()) for name, args in calls)
    return Reply(calls=asked, finish="tool_calls", usage=SCRIPTED_USAGE)


def _afresh(error: ModelError) -> ModelError:
    """The same error again, which its catcher may change without changing the script."""
    fresh = type(error).__new__(type(error), *error.args)
    fresh.__dict__.update(error.__dict__)
    return fresh


class ScriptedModel:
    """A model that says what its script says, line by line, and records what it was asked.

    The script is a sequence of lines, or a function of the request that returns one. `requests` and `calls` hold what came,
    in order. A tool call without an id gets the next of `call_1`, `call_2`, ... A request after the last line raises an
    AssertionError, which no layer takes for a model's error.
    """

    def __init__(
        self,
        script: Script,
        *,
        name: str = "scripted",
        endpoint: str = "",
        abilities: Abilities | None = None,
        context_window: int | None = None,
    ) -> None:
        self.name, self.endpoint = name, endpoint
        self.abilities: Abilities = {"tool_call": True, "json_mode": True} if abilities is None else abilities
        self.context_window = context_window
        self.requests: list[Request] = []
        self.calls: list[Call] = []
        self._script = script if callable(script) else tuple(script)
        self._asked = 0

    async def chat(self, request: Request, call: Call) -> Reply:
        return self._next_reply(request, call)

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        """The reasoning in one piece, the text word by word, then the whole reply."""
        reply = self._next_reply(request, call)
        if reply.reasoning:
            yield ReasoningPiece(reply.reasoning)
        for word in _WORDS.findall(reply.text):
            yield TextPiece(word)
        yield reply

    def assert_used_up(self) -> None:
        """Fail if lines of the script are left. A function is never used up."""
        if not callable(self._script):
            left = self._script[len(self.requests) :]
            assert not left, f"{self.name} was asked {len(self.requests)} times; left of its script: {left!r}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.assert_used_up()

    def _next_reply(self, request: Request, call: Call) -> Reply:
        self.requests.append(request)
        self.calls.append(call)
        line = self._script(request) if callable(self._script) else self._line(len(self.requests))
        if isinstance(line, ModelError):
            raise _afresh(line)
        return self._with_ids(says(line) if isinstance(line, str) else line)

    def _line(self, turn: int) -> Line:
        assert not callable(self._script)
        if turn > len(self._script):
            last = self.requests[-1].messages[-1:]
            raise AssertionError(f"{self.name} has {len(self._script)} lines; request {turn} came, ending in {last!r}")
        return self._script[turn - 1]

    def _with_ids(self, reply: Reply) -> Reply:
        if all(call.id for call in reply.calls):
            return reply
        return replace(reply, calls=tuple(call if call.id else replace(call, id=self._new_id()) for call in reply.calls))

    def _new_id(self) -> str:
        self._asked += 1
        return f"call_{self._asked}"


class Delay(Struct, frozen=True):
    """The reply begins so many seconds late."""

    seconds: float


class CutAfter(Struct, frozen=True):
    """The stream breaks off after so many pieces. A `chat`, which shows no pieces, loses its whole reply."""

    pieces: int


Fault = ModelError | Delay | CutAfter


class FaultyModel(ModelLayer):
    """Another model, with a fault for each call in turn: None for no fault, and none after the last."""

    def __init__(self, inner: Model, faults: Iterable[Fault | None]) -> None:
        super().__init__(inner)
        self.punctual = False
        self._faults = iter(faults)

    async def chat(self, request: Request, call: Call) -> Reply:
        fault = await self._next_fault()
        reply = await self._inner.chat(request, call)
        if fault is not None:
            raise self._cut(fault)
        return reply

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        fault = await self._next_fault()
        shown = 0
        async with aclosing(self._inner.stream_chat(request, call)) as pieces:
            async for piece in pieces:
                if fault is not None and shown == fault.pieces:
                    raise self._cut(fault)
                yield piece
                shown += 1

    async def _next_fault(self) -> CutAfter | None:
        """Act out the fault of this call, except for a cut, which is the caller's."""
        fault = next(self._faults, None)
        if isinstance(fault, ModelError):
            raise _afresh(fault)
        if isinstance(fault, Delay):
            await anyio.sleep(fault.seconds)
            return None
        return fault

    def _cut(self, fault: CutAfter) -> Truncated:
        return Truncated(self.name, f"cut after {fault.pieces} pieces")
