"""A world in which the scenarios are lived: what their tools did, what their models were asked, what people say."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count

from orchestrator import MemoryJournal, Orchestrator, Ports
from orchestrator.answering import decide
from orchestrator.events.facts import Answered, ToolEnded
from orchestrator.events.recorded import Recorded, decode, encode
from orchestrator.journal.protocol import Journal
from orchestrator.run import Answer
from orchestrator.waiting import Decision, Waiting
from registry.origins import TRUSTED, Origins
from registry.testing import ScriptedModel
from tests.scenarios.outside import MODEL, Execution, Outside, Remembered
from tests.scenarios.plans import HARBOURS, Scenario
from tests.scenarios.script import Paced
from tests.scenarios.tools import Toolbox

GOAL, ANSWER = str(HARBOURS.goal), HARBOURS.script.answer


def ports(holder: str = "the process") -> Ports:
    """A world that stands still. Openings by one `holder` are those of a process that was started anew."""
    numbers = count(1)
    return Ports(
        now=lambda: datetime(2026, 1, 2, tzinfo=UTC),
        new_id=lambda: f"run{next(numbers)}",
        jitter=lambda: 0.5,
        holder=lambda: holder,
    )


async def journal_of(run: str, facts: Iterable[Recorded]) -> MemoryJournal:
    """A journal that an earlier process left behind: the Facts, each written as JSON and read again, and nobody's claim."""
    journal = MemoryJournal()
    await leave(journal, run, facts)
    return journal


async def leave(journal: Journal, run: str, facts: Iterable[Recorded]) -> None:
    """An earlier process writes these Facts, and lets go of the run."""
    writer = await journal.claim(run, holder="earlier", ttl=60)
    await writer.append(*((decode(encode(recorded)).event, recorded.time) for recorded in facts))
    await writer.release()


@dataclass
class World:
    """To be shared by the lives of one run."""

    scenario: Scenario = HARBOURS
    outside: Outside = field(default_factory=Remembered)

    def orchestrator(self, journal: Journal, *, holder: str = "the process") -> Orchestrator:
        """A new process, as it were, on the same world."""
        model = Paced(ScriptedModel(self.scenario.script.reply), self.scenario.pace, self.outside)
        return Orchestrator(model, tools=Toolbox(self.outside).tools(), journal=journal, ports=ports(holder))

    async def live(self, journal: Journal, run_id: str | None = None, *, holder: str = "the process") -> Answer:
        """A run from its beginning, or of the journal, to its end, whatever people have to say to it on the way."""
        orchestrator = self.orchestrator(journal, holder=holder)
        answer = await (orchestrator.run(self.scenario.goal) if run_id is None else orchestrator.resume(run_id))
        while answer.outcome == "suspended":
            for waiting in answer.waiting:
                decision, text = self._said(waiting)
                await decide(journal, answer.run_id, waiting.id, decision, text=text, ports=ports(holder))
            answer = await orchestrator.resume(answer.run_id)
        return answer

    @property
    def asked(self) -> list[Execution]:
        return [each for each in self.outside if each.tool == MODEL]

    @property
    def used(self) -> list[Execution]:
        """Every execution of a tool."""
        return [each for each in self.outside if each.tool != MODEL]

    @property
    def logged(self) -> list[str]:
        """The lines of the log book, each once."""
        return list(dict.fromkeys(each.about for each in self.outside if each.tool == "log"))

    def _said(self, waiting: Waiting) -> tuple[Decision, str]:
        """People allow everything, and go and see whether what is in doubt has happened."""
        match waiting.kind:
            case "approval":
                return "approve", ""
            case "question":
                return "answer", next(answer for question, answer in self.scenario.answers.items() if question in waiting.what)
            case "in_doubt":
                happened = [each for each in self.outside if each.key == waiting.key]
                return ("happened", happened[0].result) if happened else ("retry", "")


@dataclass(frozen=True)
class Life:
    """A run as it was lived: its world, its answer, and its Facts."""

    world: World
    answer: Answer
    facts: tuple[Recorded, ...]

    @classmethod
    async def of(cls, world: World, journal: Journal, run_id: str | None = None, *, holder: str = "the process") -> "Life":
        answer = await world.live(journal, run_id, holder=holder)
        return cls(world, answer, await journal.read(answer.run_id))

    @property
    def gist(self) -> tuple[object, ...]:
        """All that a user can see, but for how long it took."""
        steps = [(name, end.kind, getattr(end, "output", "")) for name, end in self.answer.steps.items()]
        return self.answer.output, self.answer.outcome, self.answer.plan, steps, self.answer.usage

    @property
    def asked(self) -> Counter[str]:
        return Counter(each.about for each in self.world.asked)

    @property
    def written(self) -> Counter[tuple[str, ...]]:
        """Every Fact by what it is about."""
        about = ("scope", "step", "purpose", "iteration", "attempt")
        return Counter((each.event.kind, *(str(getattr(each.event, name, "")) for name in about)) for each in self.facts)

    @property
    def keys(self) -> set[str]:
        return {each.event.key for each in self.facts if hasattr(each.event, "key")}

    @property
    def origins(self) -> dict[str, Origins]:
        return {name: getattr(end, "origins", TRUSTED) for name, end in self.answer.steps.items()}

    @property
    def effects(self) -> dict[str, str]:
        """What happened in the world, by key."""
        return {each.key: each.about for each in self.world.used}

    @property
    def repeated(self) -> set[str]:
        """The keys of effects that happened twice, and must not."""
        times = Counter(each.key for each in self.world.used if each.effect in ("transactional", "unkeyed"))
        return {key for key, often in times.items() if often > 1}

    @property
    def told(self) -> bool:
        """Whether the outcome of a call is what a person said it was, which then is the origin of all that follows."""
        return any(isinstance(each.event, Answered) and each.event.decision == "happened" for each in self.facts)


_undisturbed: dict[str, Life] = {}


async def undisturbed(scenario: Scenario) -> Life:
    """The run as it goes by itself, which is always the same."""
    if scenario.name not in _undisturbed:
        _undisturbed[scenario.name] = await Life.of(World(scenario), MemoryJournal())
    return _undisturbed[scenario.name]


def ended(facts: Iterable[Recorded]) -> set[str]:
    """The keys of the tool calls that are finished, and not to be made again."""
    return {each.event.key for each in facts if isinstance(each.event, ToolEnded)}
