"""How many tool calls a step may make."""

from orchestrator.hooks import Hook
from registry.calls import Call
from registry.context import READ_RESULT
from registry.errors import ToolDenied
from registry.messages import ToolCall
from registry.tools.tool import Observation


class GrantedCalls(Hook):
    """One step's own policy: of its calls so many run, in the order in which they were made, and the others are denied.

    What was done in an earlier life of the run counts; to read again what is there already does not.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._made: set[str] = set()

    async def before_tool(self, wanted: ToolCall, call: Call) -> ToolCall:
        if wanted.name != READ_RESULT and call.key not in self._made:
            if len(self._made) >= self._most:
                raise ToolDenied(
                    wanted.name, f"this step may make {self._most} tool calls, and has made them: conclude without it"
                )
            self._made.add(call.key)
        return wanted

    async def after_tool(self, observation: Observation, call: Call) -> Observation:
        if observation.name != READ_RESULT and observation.error != ToolDenied.__name__:
            self._made.add(call.key)
        return observation
