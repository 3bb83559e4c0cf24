"""What models say in either dialect, so that one test holds for both."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from registry.messages import Json, Message, Reply, Request, ToolMessage, UserMessage
from registry.models.model import Abilities
from registry.testing import asks, says


@dataclass(frozen=True)
class Spoken:
    """A dialect as a scripted model speaks it."""

    abilities: Abilities
    call: Callable[..., Reply]
    conclude: Callable[[str], Reply]


def act(name: str, /, **arguments: Json) -> Reply:
    """A tool call in the Json dialect."""
    return acts(name, json.dumps(arguments))


def acts(name: str, arguments: str) -> Reply:
    """A tool call in the Json dialect, its arguments as they are written."""
    return says(f'{{"reasoning": "because", "tool_call": {{"name": {json.dumps(name)}, "arguments": {arguments}}}}}')


def answer(text: str) -> Reply:
    """A final answer in the Json dialect."""
    return says(json.dumps({"reasoning": "now I know", "final_answer": text}))


NATIVE = Spoken({"tool_call": True}, asks, says)
JSON = Spoken({"json_mode": True}, act, answer)

BOTH = pytest.mark.parametrize("spoken", [pytest.param(NATIVE, id="native"), pytest.param(JSON, id="json")])


def results(messages: tuple[Message, ...]) -> list[str]:
    """What came of the calls, in either dialect, without the label that it has in one."""
    return [
        message.text if isinstance(message, ToolMessage) else message.text.partition("\n")[2]
        for message in messages
        if isinstance(message, ToolMessage) or (isinstance(message, UserMessage) and message.call_id)
    ]


def shown_tools(request: Request) -> list[str]:
    """The tools that a request offers, in either dialect."""
    if request.tools:
        return [spec.name for spec in request.tools]
    return [line[2:].partition(":")[0] for line in request.messages[0].text.splitlines() if line.startswith("- ")]
