"""From a plan to an answer: agents, executor, journal, edges. The public names of the package."""

from typing import TYPE_CHECKING

from registry.lazy import lazily

if TYPE_CHECKING:
    from orchestrator.agent import AgentResult, ReActAgent
    from orchestrator.errors import RunError
    from orchestrator.events.recorded import Recorded
    from orchestrator.executor import DAGExecutor, Settled, Suspended
    from orchestrator.frontier import Frontier
    from orchestrator.hooks import CompositeHook, Hook, Observer
    from orchestrator.interrupts import InterruptQueue
    from orchestrator.journal.memory import MemoryJournal
    from orchestrator.limits import Limits
    from orchestrator.orchestrator import Orchestrator
    from orchestrator.ports import Ports
    from orchestrator.run import Answer, Run

__all__ = [
    "AgentResult",
    "Answer",
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
    "Settled",
    "Suspended",
]

__getattr__ = lazily(
    __name__,
    {
        "AgentResult": "agent",
        "Answer": "run",
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
        "Settled": "executor",
        "Suspended": "executor",
    },
)
