"""Fifty branches side by side on a hundred requests: a run that wants more than it may spend, whatever goes wrong on the way."""

from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field
from random import Random

import anyio

from orchestrator import Limits, MemoryJournal, Orchestrator, Ports
from orchestrator.events.recorded import Recorded
from orchestrator.hooks import Hook
from orchestrator.prompts import SYNTHESIS
from orchestrator.run import Answer
from planner import JudgeCheck, Plan, Step
from registry.calls import Call
from registry.errors import ModelError, Overloaded, Truncated, Unreachable
from registry.governor.budgeted import BudgetedModel
from registry.governor.retry import RetryingModel
from registry.messages import Piece, Reply, Request
from registry.testing import Line, ScriptedModel, asks
from registry.tools.function import FunctionTool, tool
from registry.tools.tool import Tool
from tests.scenario import journal_of, ports

BRANCHES, LIMIT, LEAST = 50, 100, 97

TROUBLE = 0.04
"""The part of all requests that is turned away with a 429, as many as are cut off, and as many as never arrive."""

VERDICT = {"achieved": False, "confidence": 0.9, "reasoning": "not all was done", "missing": ["the rest"], "final_answer": ""}


@tool(effect="pure")
async def look(place: str) -> str:
    """Look at a place."""
    await anyio.sleep(0.2)
    return f"{place} is there"


class Wide(Hook):
    """A policy that makes many branches of whatever was planned: some choose among many tools first, some are judged."""

    async def on_plan(self, plan: Plan) -> Plan:
        return plan.model_copy(update={"steps": tuple(_branch(number) for number in range(BRANCHES))})


def _branch(number: int) -> Step:
    return Step(
        id=f"b{number}",
        task=f"look at {number}",
        tools=None if number % 10 == 0 else ("look",),
        verify=JudgeCheck(judge="it says that it is there") if number % 7 == 0 else None,
        optional=number % 12 == 0,
    )


def tools() -> list[Tool]:
    """More than a model is shown without a choice being made."""
    return [look, *(FunctionTool(look.__wrapped__, name=f"look_{number}", effect="pure") for number in range(13))]


@dataclass(kw_only=True)
class World:
    """What all lives of a run share. `sent` counts the requests that reached the model, whatever came of them."""

    random: Random
    sent: int = 0
    laps: dict[str, int] = field(default_factory=dict)

    def line(self, request: Request) -> Line:
        """What the model says. Each branch looks at its place one to four times before it has an answer."""
        match [spec.name for spec in request.tools]:
            case ["plan"]:
                return asks("plan", steps=[{"id": "look", "task": "look everywhere"}])
            case ["verdict"]:
                return asks("verdict", **VERDICT)
            case ["tools"]:
                return asks("tools", tools=["look"])
            case ["finding"]:
                return asks("finding", why="", passed=True)
            case _ if request.messages[0].text == SYNTHESIS:
                return "What there is."
            case _:
                lap = sum(message.role == "assistant" for message in request.messages)
                task = next(message.text for message in request.messages if message.role == "user")
                most = self.laps.setdefault(task, 2 + self.random.randrange(3))
                return asks("look", place=f"{task}, {lap}") if request.tools and lap + 1 < most else "It is there."


class Endpoint:
    """The model at the other end: as slow and as unreliable as they are. It counts what arrives."""

    name, endpoint, context_window = "crowd", "", None
    abilities = {"tool_call": True, "json_mode": True}

    def __init__(self, world: World) -> None:
        self._world, self._script = world, ScriptedModel(world.line)

    async def chat(self, request: Request, call: Call) -> Reply:
        chance = self._world.random.random
        await anyio.sleep(0.01 * chance())
        trouble = chance()
        if trouble < TROUBLE:
            raise Unreachable(self.name, "no connection")
        self._world.sent += 1
        await anyio.sleep(0.1 + 2 * chance())
        if trouble < 2 * TROUBLE:
            raise Overloaded(self.name, "too many requests", status=429)
        if trouble < 3 * TROUBLE:
            raise Truncated(self.name, "the connection broke off")
        return await self._script.chat(request, call)

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        yield await self.chat(request, call)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What came of a run. `sent` are the requests of all its lives."""

    answer: Answer | None
    error: str
    sent: int
    killed: int

    @property
    def missing(self) -> tuple[str, ...]:
        return () if self.answer is None else self.answer.missing

    @property
    def faults(self) -> tuple[str, ...]:
        """What should be otherwise."""
        answer = self.answer
        budget = None if answer is None else answer.summary.budget
        held = {
            "too many requests": self.sent <= LIMIT,
            "too few requests": bool(self.killed) or self.sent >= LEAST,
            f"no answer: {self.error}": answer is not None and bool(answer.output),
            "nothing is said to be missing": bool(self.missing),
            "no word of the limit": budget is not None and budget.near == "requests",
            "the books are wrong": budget is not None and self.sent <= (budget.spent.requests or 0) <= LIMIT,
            "the books are inexact": bool(self.killed) or (budget is not None and budget.spent.requests == self.sent),
        }
        return tuple(fault for fault, holds in held.items() if not holds)


def _orchestrator(world: World, journal: MemoryJournal) -> Orchestrator:
    model = RetryingModel(BudgetedModel(Endpoint(world)), jitter=world.random.random)
    began = anyio.current_time()
    still = ports()
    clock = Ports(
        now=lambda: still.now().fromtimestamp(1_800_000_000 + anyio.current_time() - began, tz=still.now().tzinfo),
        new_id=still.new_id,
        jitter=still.jitter,
        holder=still.holder,
    )
    limits = Limits(max_requests=LIMIT, rounds=2)
    return Orchestrator(model, tools=tools(), hooks=[Wide()], limits=limits, journal=journal, ports=clock)


async def lived(seed: int, *, kills: int = 0) -> Seen:
    """The run of this seed, whose process is killed so often: what it has not written down by then is lost."""
    random = Random(seed)
    world, journal, run = World(random=random), MemoryJournal(), ""
    for _ in range(kills):
        journal, run = await _killed(world, journal, run, after=0.5 + 6 * random.random())
    orchestrator = _orchestrator(world, journal)
    answer, error = None, ""
    try:
        answer = await (orchestrator.resume(run) if run else orchestrator.run("Look everywhere"))
    except ModelError as failure:
        error = str(failure)
    return Seen(answer=answer, error=error, sent=world.sent, killed=kills)


async def _killed(world: World, journal: MemoryJournal, run: str, *, after: float) -> tuple[MemoryJournal, str]:
    """One life, as long as that: the journal as it was at its end, and the run."""
    orchestrator = _orchestrator(world, journal)
    facts: Iterable[Recorded] = ()
    async with orchestrator.open_again(run) if run else orchestrator.open("Look everywhere") as living:
        with anyio.move_on_after(after):
            await living.answer()
        facts, sent = await journal.read(living.id), world.sent
        left = await journal_of(living.id, facts)
    world.sent = sent
    return left, living.id
