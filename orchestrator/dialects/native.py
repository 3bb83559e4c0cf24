"""The provider's own tool calls."""

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from orchestrator.dialects.dialect import Act, Conclude, Reading
from registry.digests import canonical
from registry.errors import ToolError
from registry.messages import AssistantMessage, Message, Reply, Request, ToolCall, ToolMessage, ToolSpec
from registry.structured.extract import Extracted, read_strictly
from registry.tools.arguments import check_arguments, read_arguments
from registry.tools.tool import Observation

AS_TEXT = "call_as_text"
"""The id of a call that the model wrote where its answer belongs."""

_TAGS = re.compile(r"<(tool_call|function_call)>(?P<call>.*)</\1>", re.DOTALL)


class Native:
    """Tools travel in the request, calls in the reply. Without tools this is plain conversation."""

    continues = True

    def instructions(self, specs: Sequence[ToolSpec]) -> str:  # noqa: ARG002 (the request carries the tools)
        return ""

    def request(self, messages: tuple[Message, ...], specs: tuple[ToolSpec, ...], *, may_act: bool = True) -> Request:
        # The tools stay in a request that may not use them: the prefix that providers cache is then the same.
        return Request(messages=messages, tools=specs, tool_choice="auto" if may_act else "none")

    def meant(self, reply: Reply, specs: Sequence[ToolSpec]) -> Reply:
        """A text that is nothing but one call of a tool that there is, with arguments that it takes, is that call."""
        call = None if reply.calls or reply.finish != "stop" else _call_in(reply.text, specs)
        return reply if call is None else replace(reply, text="", calls=(call,), finish="tool_calls")

    def read(self, reply: Reply) -> Reading:
        if reply.calls:
            return Act(calls=reply.calls, reasoning=reply.reasoning)
        return Conclude(text=reply.text, reasoning=reply.reasoning)

    def said(self, reply: Reply) -> AssistantMessage:
        return AssistantMessage(text=reply.text, calls=reply.calls, reasoning=reply.reasoning, opaque=reply.opaque)

    def observed(self, observations: Sequence[Observation]) -> tuple[Message, ...]:
        return tuple(
            [ToolMessage(call_id=seen.call_id, name=seen.name, text=seen.text, origins=seen.origins) for seen in observations]
        )


def _call_in(text: str, specs: Sequence[ToolSpec]) -> ToolCall | None:
    said = text.strip()
    if not said.startswith(("{", "<")):
        return None
    tagged = _TAGS.fullmatch(said)
    found = read_strictly(tagged["call"].strip() if tagged else said, None)
    if not isinstance(found, Extracted) or not isinstance(found.value, Mapping):
        return None
    if found.value.keys() != {"name", "arguments"} or not isinstance(found.value["arguments"], dict):
        return None
    spec = next((spec for spec in specs if spec.name == found.value["name"]), None)
    if spec is None:
        return None
    arguments = canonical(found.value["arguments"]).decode()
    try:
        check_arguments(spec, read_arguments(spec, arguments))
    except ToolError:
        return None
    return ToolCall(id=AS_TEXT, name=spec.name, arguments=arguments)
