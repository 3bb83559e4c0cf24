"""The file of a recording: what goes in comes out, and people can read it."""

import inspect
import json
from decimal import Decimal
from typing import Any

import pytest

from registry.errors import (
    CircuitOpen,
    Garbled,
    ModelError,
    NoTypedAnswer,
    Overloaded,
    Refused,
    Truncated,
    Unable,
    Unauthorized,
    Unreachable,
    WindowExceeded,
)
from registry.messages import (
    AssistantMessage,
    ReasoningPiece,
    Reply,
    Request,
    Reset,
    ResponseFormat,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from registry.recording.exchanges import FORMAT, Exchange, RecordedError, Recording, decode, encode, key_of, lean
from registry.usage import Usage

CALL = ToolCall(id="c1", name="add", arguments='{"a": 1}')
PARAMETERS = {"type": "object", "properties": {"a": {"type": "integer", "default": None}}, "required": []}
FULL = Request(
    messages=(
        SystemMessage(text="Be brief."),
        UserMessage(text="1 + 1? — één", pinned=True),
        AssistantMessage(text="", calls=(CALL,), reasoning="a sum", origins=("tool:web",)),
        ToolMessage(call_id="c1", name="add", text="half a character: \ud83d", origins=("tool:add",)),
    ),
    tools=(ToolSpec(name="add", description="Add.", parameters=PARAMETERS),),
    tool_choice="required",
    response_format=ResponseFormat(name="sum", schema={"type": "object"}),
    max_tokens=5,
    temperature=0.5,
)
HELLO = Request(messages=(UserMessage(text="hello"),))
REPLY = Reply(text="2", calls=(CALL,), finish="length", usage=Usage(requests=1, input_tokens=2**70), model="m", waited=0.25)


def recording(*exchanges: Exchange) -> Recording:
    return Recording(format=FORMAT, model="m", abilities={"tool_call": True}, context_window=None, exchanges=exchanges)


@pytest.mark.parametrize(
    "exchange",
    [
        pytest.param(Exchange(way="chat", request=FULL, reply=REPLY), id="everything"),
        pytest.param(Exchange(way="chat", request=HELLO, reply=Reply()), id="an-empty-reply"),
        pytest.param(
            Exchange(way="stream_chat", request=HELLO, pieces=("a", ReasoningPiece("b"), Reset("c")), reply=Reply(text="a")),
            id="pieces-of-each-kind",
        ),
        pytest.param(Exchange(way="stream_chat", request=HELLO, pieces=("a",)), id="left"),
    ],
)
def test_what_goes_in_comes_out(exchange: Exchange) -> None:
    """An exchange is read back equal, and is written the same again."""
    written = encode(recording(exchange))
    read = decode(written)

    assert written == encode(read)
    assert lean(exchange) == lean(read.exchanges[0])
    assert exchange.reply == read.exchanges[0].reply
    assert exchange.pieces == read.exchanges[0].pieces
    assert exchange.request.messages == read.exchanges[0].request.messages


def test_money_keeps_every_digit() -> None:
    """What a reply cost comes back as it was; a float would round it."""
    reply = Reply(text="x", usage=Usage(requests=1, cost=Decimal("0.10000000000000000001"), priced=1))
    exchange = Exchange(way="chat", request=FULL, reply=reply)
    recording = Recording(format=FORMAT, model="m", abilities={}, context_window=None, exchanges=(exchange,))

    assert reply == decode(encode(recording)).exchanges[0].reply


def test_a_file_is_for_people() -> None:
    """Plain characters, one value a line, who speaks before what is said, and nothing that has its default."""
    written = encode(recording(Exchange(way="chat", request=FULL, reply=Reply(text="2"))))

    assert '{\n            "role": "user",\n            "text": "1 + 1? — één",\n            "pinned": true\n' in written.decode()
    assert {"text": "2"} == json.loads(written)["exchanges"][0]["reply"]


def each_kind() -> list[ModelError]:
    return [
        ModelError("out of luck", usage=Usage(requests=2)),
        Unreachable("here", "no line"),
        CircuitOpen("here", 1.5),
        Overloaded("here", "busy", status=429, retry_after=1.5),
        Overloaded("here", "busy"),
        Refused("here", "no tools", status=400, parameter="tools", codes=("unsupported",)),
        Unauthorized("here", "no"),
        WindowExceeded("here", "9 > 8"),
        Unable(("tool_call",), ("small", "smaller")),
        Truncated("here", "cut", usage=Usage(requests=1, output_tokens=3)),
        Garbled("here", "a web page"),
    ]


@pytest.mark.parametrize("error", each_kind(), ids=lambda error: type(error).__name__)
def test_an_error_is_revived(error: ModelError) -> None:
    """It has the kind, the sentence and all facts of the one that was kept, from the file too."""
    written = encode(recording(Exchange(way="chat", request=HELLO, error=RecordedError.of(error))))
    kept = decode(written).exchanges[0].error
    assert kept is not None

    revived = kept.revived()

    assert (type(error), str(error), vars(error)) == (type(revived), str(revived), vars(revived))


@pytest.mark.parametrize("kind", [type(error) for error in each_kind()[1:]])
def test_every_fact_of_an_error_is_kept(kind: type[ModelError]) -> None:
    """What a constructor takes is in the recording under its own name."""
    taken: dict[str, Any] = {name: "x" for name in inspect.signature(kind).parameters if name not in ("usage", "last")}
    if kind in (CircuitOpen, Overloaded):
        taken["retry_after"] = 1.0

    assert taken.items() <= RecordedError.of(kind(**taken)).facts.items()


def test_an_error_of_another_kind_is_the_nearest_that_is_known() -> None:
    """A kind that is not a wire's own comes back as what it descends from."""
    error = NoTypedAnswer("plan", ("nonsense",), usage=Usage(requests=3))

    revived = RecordedError.of(error).revived()

    assert (ModelError, str(error), error.usage) == (type(revived), str(revived), revived.usage)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(b"", "Expecting value", id="empty"),
        pytest.param(b"[]", "its format is None", id="another-shape"),
        pytest.param(b'{"format": 2}', "its format is 2, and this is for 1", id="another-format"),
        pytest.param(b'{"format": 1}', "model", id="parts-missing"),
    ],
)
def test_what_is_no_recording_is_refused(content: bytes, why: str) -> None:
    """A ValueError says what is wrong."""
    with pytest.raises(ValueError, match=why):
        decode(content)


@pytest.mark.parametrize(
    ("other", "equal"),
    [
        pytest.param(Request(messages=(UserMessage(text="hello"),)), True, id="equal"),
        pytest.param(Request(messages=(UserMessage(text="Hello"),)), False, id="another-text"),
        pytest.param(Request(messages=(UserMessage(text="hello"),), max_tokens=1), False, id="another-cap"),
    ],
)
def test_equal_requests_have_one_key(other: Request, equal: bool) -> None:
    """The key says what is asked, and how, and nothing else."""
    assert equal == (key_of("chat", HELLO) == key_of("chat", other))
    assert key_of("chat", HELLO) != key_of("stream_chat", HELLO)


def test_tools_are_compared_by_what_they_say() -> None:
    """Two tool descriptions made apart are equal requests."""
    first, second = (
        Request(messages=(), tools=(ToolSpec(name="add", description="Add.", parameters={"b": 1, "a": 2}),)),
        Request(messages=(), tools=(ToolSpec(name="add", description="Add.", parameters={"a": 2, "b": 1}),)),
    )

    assert key_of("chat", first) == key_of("chat", second)
