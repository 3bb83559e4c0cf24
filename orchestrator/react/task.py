"""What an agent is made of, and what one run of it is about."""

from msgspec import Struct
from msgspec.structs import replace

from orchestrator.hooks import CompositeHook
from registry.context import ContextGuard
from registry.messages import Message, SystemMessage, UserMessage
from registry.models.model import Model
from registry.origins import Origins
from registry.tools.registry import ToolRegistry


class Equipment(Struct, frozen=True, kw_only=True):
    """What all runs of an agent have in common."""

    model: Model
    compaction: Model | None
    tools: ToolRegistry
    hooks: CompositeHook
    guard: ContextGuard
    system: str
    tool_hint: str | None
    use_native_tools: bool
    max_iterations: int
    reply_tokens: int | None


class Task(Struct, frozen=True, kw_only=True):
    """What one run is about. `history` is what was said before, and `origins` where the goal has its parts from."""

    goal: str
    history: tuple[Message, ...]
    origins: Origins

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation that the model is to go on with: only the new goal must survive every trimming."""
        goal = UserMessage(text=self.goal, pinned=True, origins=self.origins)
        if not self.history:
            return (goal,)
        earlier = (message for message in self.history if not isinstance(message, SystemMessage))
        unpinned = (replace(each, pinned=False) if isinstance(each, UserMessage) else each for each in earlier)
        return (*unpinned, goal)
