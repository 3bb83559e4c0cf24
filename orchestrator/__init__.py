"""From a plan to an answer: agents, executor, journal, edges. The public names of the package."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.agent import AgentResult, ReActAgent
    from orchestrator.answering import decide
    from orchestrator.errors import BudgetExhausted, RunError
    from orchestrator.events.figures import BudgetReport
    from orchestrator.events.recorded import Recorded
    from orchestrator.executor import DAGExecutor, Settled, Suspended
    from orchestrator.frontier import Frontier
    from orchestrator.hooks import CompositeHook, Hook, Observer
    from orchestrator.interrupts import InterruptQueue
    from orchestrator.journal.memory import MemoryJournal
    from orchestrator.journal.sqlite import SqliteJournal
    from orchestrator.limits import Limits
    from orchestrator.orchestrator import Orchestrator
    from orchestrator.ports import Ports
    from orchestrator.run import Answer, Run
    from orchestrator.settings import Settings, read_settings
    from orchestrator.waiting import Waiting
    from orchestrator.wiring import connect, wired

__all__ = [
    "AgentResult",
    "Answer",
    "BudgetExhausted",
    "BudgetReport",
    "CompositeHook",
    "DAGExecutor",
    "Frontier",
    "Hook",
    "InterruptQueue",
    "Limits",
    "MemoryJournal",
    "Observer",
    "Orchestrator",
    "Ports",
    "ReActAgent",
    "Recorded",
    "Run",
    "RunError",
    "Settings",
    "Settled",
    "SqliteJournal",
    "Suspended",
    "Waiting",
    "connect",
    "decide",
    "read_settings",
    "wired",
]

_WHERE = {
    "AgentResult": "agent",
    "Answer": "run",
    "BudgetExhausted": "errors",
    "BudgetReport": "events.figures",
    "CompositeHook": "hooks",
    "DAGExecutor": "executor",
    "Frontier": "frontier",
    "Hook": "hooks",
    "InterruptQueue": "interrupts",
    "Limits": "limits",
    "MemoryJournal": "journal.memory",
    "Observer": "hooks",
    "Orchestrator": "orchestrator",
    "Ports": "ports",
    "ReActAgent": "agent",
    "Recorded": "events.recorded",
    "Run": "run",
    "RunError": "errors",
    "Settings": "settings",
    "Settled": "executor",
    "SqliteJournal": "journal.sqlite",
    "Suspended": "executor",
    "Waiting": "waiting",
    "connect": "wiring",
    "decide": "answering",
    "read_settings": "settings",
    "wired": "wiring",
}


def __getattr__(name: str) -> object:
    # Imported here, so that whoever asks for nothing of ours can still be told that a registry.py stands before ours.
    from registry.lazy import lazily

    return lazily(__name__, _WHERE)(name)
