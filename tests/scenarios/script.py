"""A model that goes by the request alone: a resumed run can't tell whether it was asked before."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

import anyio

from orchestrator.prompts import SYNTHESIS
from registry.calls import Call
from registry.errors import Unreachable
from registry.messages import Json, Piece, Reply, Request
from registry.models.layer import ModelLayer
from registry.models.model import Model
from registry.testing import Line, asks
from tests.scenarios.outside import MODEL, Execution, Outside

MISSED = {"achieved": False, "confidence": 0.9, "reasoning": "something is missing", "missing": ["the rest"], "final_answer": ""}
MET = {"achieved": True, "confidence": 0.9, "reasoning": "all is there", "missing": [], "final_answer": "Done."}

Steps = Sequence[Mapping[str, Json]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """`tasks` says what the agent of each task does, lap by lap, and `answer` what the synthesis writes.

    In both `{read}` stands for what was asked, and `{seen}` for all that came since, from tools and from the user. `plans` are
    the first plan and its revision. The judge is content when it reads `met`.
    """

    tasks: Mapping[str, Sequence[Line]]
    plans: Sequence[Steps] = ()
    met: str = ""
    answer: str = ""

    def reply(self, request: Request) -> Line:
        read = next(message.text for message in request.messages if message.role == "user")
        seen = "; ".join(message.text for message in request.messages[2:] if message.role in ("tool", "user"))
        line = self._line(request, read)
        return line.replace("{seen}", seen).replace("{read}", read) if isinstance(line, str) else line

    def _line(self, request: Request, read: str) -> Line:
        match [spec.name for spec in request.tools]:
            case ["plan"]:
                return asks("plan", steps=list(self.plans["something is missing" in read]))
            case ["verdict"]:
                return asks("verdict", **(MET if self.met in read else MISSED))
            case _ if request.messages[0].text == SYNTHESIS:
                return self.answer
            case _:
                lap = sum(message.role == "assistant" for message in request.messages)
                laps = self.tasks[read.partition("\n")[0]]
                return laps[min(lap, len(laps) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How many seconds a step's model takes for a reply, so that what overlaps does so in a known order; and which step's model
    can't be reached at the first attempt, once its tools were used."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    otherwise: float = 0.1
    storm: str = ""

    def times(self, factor: float) -> "Pace":
        seconds = {label: each * factor for label, each in self.seconds.items()}
        return replace(self, seconds=seconds, otherwise=self.otherwise * factor)


class Paced(ModelLayer):
    """A model that takes its time. Being asked is something that happens, too."""

    def __init__(self, inner: Model, pace: Pace, outside: Outside) -> None:
        super().__init__(inner)
        self._pace, self._outside = pace, outside

    async def chat(self, request: Request, call: Call) -> Reply:
        self._outside.happen(asking(request, call))
        await anyio.sleep(self._pace.seconds.get(call.label, self._pace.otherwise))
        if (call.label, call.attempt) == (self._pace.storm, 1) and request.messages[-1].role == "tool":
            raise Unreachable("the model", "a passing storm")
        return await self._inner.chat(request, call)

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        self._outside.happen(asking(request, call))
        async with aclosing(self._inner.stream_chat(request, call)) as pieces:
            async for piece in pieces:
                yield piece


def asking(request: Request, call: Call) -> Execution:
    """In every scenario a model is asked once in each lap of each attempt at something, and for one thing."""
    said = [(message.role, message.text) for message in request.messages]
    key = f"{call.scope} {call.purpose} {call.iteration} @{call.attempt}"
    return Execution(tool=MODEL, effect="pure", key=key, about=repr(said))
