"""The provider's own tool calls."""

from collections.abc import Sequence

from orchestrator.dialects.dialect import Act, Conclude, Reading
from registry.messages import AssistantMessage, Message, Reply, Request, ToolMessage, ToolSpec
from registry.tools.tool import Observation


class Native:
    """Tools travel in the request, calls in the reply. Without tools this is plain conversation."""

    continues = True

    def instructions(self, specs: Sequence[ToolSpec]) -> str:  # noqa: ARG002 (the request carries the tools)
        return ""

    def request(self, messages: tuple[Message, ...], specs: tuple[ToolSpec, ...], *, may_act: bool = True) -> Request:
        # The tools stay in a request that may not use them: the prefix that providers cache is then the same.
        return Request(messages=messages, tools=specs, tool_choice="auto" if may_act else "none")

    def read(self, reply: Reply) -> Reading:
        if reply.calls:
            return Act(calls=reply.calls, reasoning=reply.reasoning)
        return Conclude(text=reply.text, reasoning=reply.reasoning)

    def said(self, reply: Reply) -> Message:
        return AssistantMessage(text=reply.text, calls=reply.calls, reasoning=reply.reasoning, opaque=reply.opaque)

    def observed(self, observations: Sequence[Observation]) -> tuple[Message, ...]:
        return tuple(
            ToolMessage(call_id=seen.call_id, name=seen.name, text=seen.text, origins=seen.origins) for seen in observations
        )
