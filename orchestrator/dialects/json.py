"""One JSON object a reply, for models without tool calls of their own."""

import json
import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from orchestrator.dialects.dialect import Act, Conclude, Garbled, Reading
from orchestrator.prompts import OBSERVED
from registry.messages import (
    AssistantMessage,
    Json,
    Message,
    Reply,
    Request,
    ResponseFormat,
    Schema,
    ToolCall,
    ToolSpec,
    UserMessage,
)
from registry.models.model import Abilities
from registry.structured.extract import Unreadable, extract_json, read_strictly
from registry.tools.tool import Observation

_MADE_UP = re.compile(r"^\s*Observation\b.*:", re.MULTILINE)
"""Where a reply begins to tell of an observation, which only we do."""

_ANSWER: Schema = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "final_answer": {"type": "string"}},
    "required": ["final_answer"],
    "additionalProperties": False,
}


class JsonDialect:
    """Tools are described in the system prompt; observations come back as user messages."""

    continues = False

    def __init__(self, abilities: Abilities) -> None:
        self._abilities = abilities

    def instructions(self, specs: Sequence[ToolSpec]) -> str:
        described = "\n".join(
            f"- {spec.name}: {spec.description} Arguments: {json.dumps(spec.parameters, ensure_ascii=False)}" for spec in specs
        )
        return (
            "You can use these tools:\n"
            f"{described}\n\n"
            "Answer with one JSON object and nothing else. To use a tool:\n"
            '{"reasoning": "why", "tool_call": {"name": "the tool", "arguments": {}}}\n'
            "When you know the answer:\n"
            '{"reasoning": "why", "final_answer": "your answer, as text"}'
        )

    def request(self, messages: tuple[Message, ...], specs: tuple[ToolSpec, ...], *, may_act: bool = True) -> Request:
        if self._abilities.get("json_schema"):
            return Request(messages=messages, response_format=_reply_format(specs if may_act else ()))
        if self._abilities.get("json_mode"):
            return Request(messages=messages, response_format=ResponseFormat())
        return Request(messages=messages)

    def meant(self, reply: Reply, specs: Sequence[ToolSpec]) -> Reply:  # noqa: ARG002 (names are looked up when they are called)
        """Some models play the whole conversation. What they believe to have observed is not kept, nor what they make of it."""
        text = _own_words(reply.text)
        return reply if text == reply.text else replace(reply, text=text, finish="stop")

    def read(self, reply: Reply) -> Reading:
        found = extract_json(reply.text)
        if isinstance(found, Unreadable):
            return Garbled(why=found.message)
        said = found.value
        if not isinstance(said, Mapping):
            return Garbled(why="the reply is not a JSON object")
        reasoning = said.get("reasoning") or reply.reasoning
        # Models that know another protocol leave out what is around the call.
        wanted = said if said.keys() == {"name", "arguments"} else said.get("tool_call")
        if isinstance(wanted, Mapping) and isinstance(wanted.get("name"), str):
            return Act(calls=(_call(wanted),), reasoning=str(reasoning))
        if said.get("final_answer") is not None:
            return Conclude(text=_text(said["final_answer"]), reasoning=str(reasoning))
        return Garbled(why="the object has neither a 'tool_call' with a name nor a 'final_answer'")

    def said(self, reply: Reply) -> AssistantMessage:
        return AssistantMessage(text=reply.text, reasoning=reply.reasoning, opaque=reply.opaque)

    def observed(self, observations: Sequence[Observation]) -> tuple[Message, ...]:
        return tuple(
            UserMessage(text=f"{OBSERVED}{seen.name}:\n{seen.text}", call_id=seen.call_id, origins=seen.origins)
            for seen in observations
        )


def _own_words(text: str) -> str:
    if not isinstance(read_strictly(text, None), Unreadable):
        return text
    asked = text.find("{")
    made_up = _MADE_UP.search(text, asked) if asked >= 0 else None
    return text if made_up is None else text[: made_up.start()].rstrip()


def _call(wanted: Mapping[str, Json]) -> ToolCall:
    """The call, still without an id: it has no name for itself as a provider's calls have."""
    arguments = wanted.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    return ToolCall(id="", name=wanted["name"], arguments=text)


def _text(answer: Json) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def _reply_format(specs: Sequence[ToolSpec]) -> ResponseFormat:
    calls = [
        {
            "type": "object",
            "properties": {"name": {"const": spec.name}, "arguments": spec.parameters},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for spec in specs
    ]
    if not calls:
        return ResponseFormat(name="answer", schema=_ANSWER)
    act = {
        "type": "object",
        "properties": {"reasoning": {"type": "string"}, "tool_call": {"anyOf": calls}},
        "required": ["tool_call"],
        "additionalProperties": False,
    }
    return ResponseFormat(name="lap", schema={"anyOf": [act, _ANSWER]})
