"""A request that is said anew where the endpoint refuses how it is said."""

from itertools import pairwise

import orjson
import pytest

from registry.errors import ModelError, Overloaded, Refused, Truncated, Unauthorized, WindowExceeded
from registry.messages import Json, Reply, Request, SystemMessage, TextPiece, ToolSpec, UserMessage
from registry.usage import UNMETERED, Usage
from registry.wire.rules import COMPATIBLE
from registry.wire.wording import Wording

pytestmark = pytest.mark.anyio

TOOL = ToolSpec(name="f", description="F.", parameters={"type": "object"})
ASKED = Request(
    messages=(SystemMessage(text="s"), UserMessage(text="u")), tools=(TOOL,), tool_choice="f", max_tokens=99, temperature=0.5
)
REPLY = Reply(text="ok", usage=Usage(requests=1, input_tokens=3, output_tokens=1))


def wording(request: Request = ASKED, *, stream: bool = False) -> Wording:
    return Wording(request, endpoint="https://x", model="m", rules=COMPATIBLE, stream=stream)


def refused(parameter: str) -> Refused:
    return Refused("https://x", "it is not supported", status=400, parameter=parameter)


def body(of: Wording) -> dict[str, Json]:
    value: dict[str, Json] = orjson.loads(of.body)
    return value


async def test_each_refusal_changes_one_thing() -> None:
    """The request is sent again with what was refused said otherwise or left out, and with the rest as it was."""
    said = wording(stream=True)
    bodies = [body(said)]
    for parameter in ("max_tokens", "temperature", "tool_choice", "tool_choice", "stream_options", "messages.0.role"):
        assert said.amended(refused(parameter))
        bodies.append(body(said))

    changes = [
        sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
        for before, after in pairwise(bodies)
    ]
    named = ["tool_choice"]
    assert [["max_completion_tokens", "max_tokens"], ["temperature"], named, named, ["stream_options"], ["messages"]] == changes
    assert {"model", "stream", "max_completion_tokens", "tools", "messages"} == bodies[-1].keys()
    assert [{"role": "user", "content": "s\n\nu"}] == bodies[-1]["messages"]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        pytest.param(ASKED, refused("messages"), id="nothing else to say"),
        pytest.param(ASKED, refused("response_format"), id="not sent"),
        pytest.param(ASKED, refused("stream_options"), id="no stream"),
        pytest.param(Request(messages=(UserMessage(text="u"),)), refused("messages.0.role"), id="no system message"),
        pytest.param(ASKED, Unauthorized("https://x", "temperature"), id="401"),
        pytest.param(ASKED, Overloaded("https://x", "temperature"), id="429"),
        pytest.param(ASKED, WindowExceeded("https://x", "max_tokens"), id="window"),
    ],
)
async def test_what_is_not_sent_again(request_: Request, error: ModelError) -> None:
    """A refusal of what was not sent, and any other error, is the caller's."""
    said = wording(request_)
    before = said.body

    assert not said.amended(error)
    assert (before, Usage()) == (said.body, error.usage)


async def test_a_request_that_needs_no_name_skips_that_step() -> None:
    """Some call was required, not one by name: so the force is what was refused."""
    said = wording(Request(messages=ASKED.messages, tools=(TOOL,), tool_choice="required"))

    assert said.amended(refused("tool_choice"))
    assert "tool_choice" not in body(said)


async def test_refused_requests_are_counted() -> None:
    """They were requests too, whether the last one was answered or failed."""
    good, bad, cut = wording(), wording(), wording()
    assert all(each.amended(refused("temperature")) for each in (good, bad, cut))
    final, broken = refused("messages"), Truncated("https://x", "cut", usage=UNMETERED)

    assert (TextPiece("o"), Usage(requests=1) + REPLY.usage) == (good.taken(TextPiece("o")), good.taken(REPLY).usage)
    assert not bad.amended(final)
    assert Usage(requests=2) == final.usage
    assert not cut.amended(broken)
    assert Usage(requests=1) + UNMETERED == broken.usage


async def test_a_lesson_counts_once_it_proved_right() -> None:
    """Later requests heed it from when the endpoint took the one that did; one that did not help is forgotten."""
    said = wording()
    assert said.amended(refused("temperature"))
    assert not said.amended(refused("messages"))
    assert 0.5 == body(wording())["temperature"]

    said.taken(REPLY)
    assert "temperature" not in body(wording())


async def test_a_reply_that_has_begun_is_not_asked_for_again() -> None:
    """Somebody has read its first piece."""
    said = wording(stream=True)
    said.taken(TextPiece("o"))

    assert not said.amended(refused("temperature"))
