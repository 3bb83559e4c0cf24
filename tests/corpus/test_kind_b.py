"""Public faults of kind B, what providers send over the wire: each case stands for its kind.

A case that has `deviates` goes by this engine's own rules in that point, for the reason that stands there.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import anyio
import httpx
import orjson
import pytest
from msgspec.structs import replace

from orchestrator.agent import ReActAgent
from orchestrator.dialects import Native
from orchestrator.events.facts import ModelReplied
from orchestrator.events.recorded import Recorded, decode, encode
from registry.calls import NO_CALL, Call
from registry.errors import (
    Garbled,
    ModelError,
    NoTypedAnswer,
    Overloaded,
    Refused,
    Truncated,
    Unauthorized,
    Unreachable,
    WindowExceeded,
)
from registry.governor.retry import MOST_ATTEMPTS, RetryingModel
from registry.http import HttpDoor
from registry.messages import (
    AssistantMessage,
    Json,
    Message,
    Piece,
    Reply,
    Request,
    ResponseFormat,
    SystemMessage,
    TextPiece,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from registry.models.model import Abilities, Model
from registry.openai import OpenAIModel
from registry.structured import StructuredCallResult, structured_llm_call
from registry.tools.function import tool
from registry.tools.registry import ToolRegistry
from registry.usage import UNMETERED, Usage
from registry.wire.learning import REMEMBERED
from registry.wire.legal import IllegalRequest
from registry.wire.rules import COMPATIBLE, WireRules
from tests.contracts.model import Body
from tests.registry.test_openai import ASK

pytestmark = pytest.mark.anyio

Case = Mapping[str, Json]

CASES: Mapping[str, Case] = {
    case["id"]: case for case in map(json.loads, (Path(__file__).parent / "data" / "kind_b.jsonl").read_text().splitlines())
}

_asserted: set[str] = set()


def cases(*ids: str) -> pytest.MarkDecorator:
    """The test of these cases, under their names: a case says what went in and what is right."""
    _asserted.update(ids)
    return pytest.mark.parametrize("case", [pytest.param(CASES[each], id=each) for each in ids])


Answer = Callable[[], httpx.Response]


class Endpoint:
    """Gives its answers in turn, the last one for ever, and keeps what it was asked."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = answers
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return self._answers[min(len(self.requests), len(self._answers)) - 1]()

    @property
    def bodies(self) -> list[Json]:
        return [orjson.loads(request.content) for request in self.requests]

    def model(
        self, *, rules: WireRules = COMPATIBLE, abilities: Abilities | None = None, base_url: str = "https://x/v1"
    ) -> OpenAIModel:
        door = HttpDoor(httpx.MockTransport(self))
        return OpenAIModel("x:m", model="m", base_url=base_url, api_key=None, door=door, rules=rules, abilities=abilities)

    def retried(self) -> RetryingModel:
        return RetryingModel(self.model(), jitter=lambda: 0.0)


def whole(body: Json, *, status: int = 200, **headers: str) -> Answer:
    """An answer in one JSON body."""
    return lambda: httpx.Response(status, json=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def says(text: str) -> Answer:
    return whole({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})


def answers_by_tool(value: Json) -> Answer:
    """A call of the tool by which a structured call asks."""
    call = {"id": "c", "type": "function", "function": {"name": "answer", "arguments": json.dumps(value)}}
    return whole({"choices": [{"message": {"content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}]})


def page(case: Case) -> Answer:
    """The case's web page."""
    given = case["input"]
    headers = {"content-type": given["content_type"]}
    return lambda: httpx.Response(given["status"], headers=headers, content=given["raw_body"].encode())


def streamed(*pieces: bytes | Exception) -> Answer:
    """An event stream that arrives in these pieces."""
    return lambda: httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Body(*pieces))


def events(data: Sequence[str]) -> bytes:
    return b"".join(b"data: %s\n\n" % each.encode() for each in data)


def stream_of(case: Case) -> bytes:
    given = case["input"]
    return given["sse_bytes"].encode() if "sse_bytes" in given else events(given["sse_data"])


async def pieces_of(model: Model, request: Request = ASK) -> list[Piece]:
    return [piece async for piece in model.stream_chat(request, NO_CALL)]


async def reply_of(model: Model, *, stream: bool, request: Request = ASK) -> Reply:
    """The whole reply, asked for in either way."""
    if not stream:
        return await model.chat(request, NO_CALL)
    *_, last = await pieces_of(model, request)
    assert isinstance(last, Reply)
    return last


def read(calls: Sequence[ToolCall]) -> list[list[Json]]:
    return [[call.id, call.name, json.loads(call.arguments)] for call in calls]


def metered(usage: Mapping[str, int]) -> Usage:
    return Usage(requests=1, input_tokens=usage["prompt_tokens"], output_tokens=usage["completion_tokens"])


either_way = pytest.mark.parametrize("stream", [False, True], ids=["chat", "stream"])


def test_every_case_is_asserted() -> None:
    """No case is forgotten."""
    assert CASES.keys() == _asserted


@cases("B01", "B03", "B05", "B08", "B10", "B23", "B25", "B27", "B28")
@pytest.mark.parametrize("size", [1, 7, 100_000])
async def test_streams(case: Case, size: int) -> None:
    """However its bytes are cut into reads, a stream gives the text, the calls and the usage that were meant."""
    raw, right = stream_of(case), case["check"]
    pieces = await pieces_of(Endpoint(streamed(*(raw[at : at + size] for at in range(0, len(raw), size)))).model())

    *shown, reply = pieces
    assert isinstance(reply, Reply)
    assert right.get("content", "") == reply.text == "".join(piece.text for piece in shown if isinstance(piece, TextPiece))
    assert right.get("calls", []) == read(reply.calls)
    assert (metered(right["usage"]) if "usage" in right else UNMETERED) == reply.usage
    assert ("tool_calls" if "calls" in right else "stop") == reply.finish


@cases("B22")
async def test_a_stream_without_a_closing_mark(case: Case) -> None:
    """A finish reason ends the reply; what nobody reported stays unknown."""
    reply = await reply_of(Endpoint(streamed(stream_of(case))).model(), stream=True)

    assert Reply(text="done", usage=UNMETERED) == reply


@cases("B04")
@either_way
async def test_usage_that_is_not_told(case: Case, stream: bool) -> None:
    """The answer stands without its usage, which is unknown then, not zero."""
    replies = [await reply_of(Endpoint(whole(body)).model(), stream=stream) for body in case["input"]["bodies"]]

    assert ["ok", "ok", "ok"] == [reply.text for reply in replies]
    assert [UNMETERED, UNMETERED, Usage(requests=1, input_tokens=500, output_tokens=200)] == [each.usage for each in replies]


@cases("B11")
@either_way
async def test_calls_without_ids(case: Case, stream: bool) -> None:
    """Both calls are there, in order, and each can be given its own result."""
    endpoint = Endpoint(whole(case["input"]["body"]), says("done"))
    model = endpoint.model()
    calls = (await reply_of(model, stream=stream)).calls
    results = [ToolMessage(call_id=call.id, name=call.name, text=call.arguments) for call in calls]
    await model.chat(Request(messages=(*ASK.messages, AssistantMessage(text="", calls=calls), *results)), NO_CALL)

    assert [{"t": "first"}, {"t": "second"}] == [json.loads(call.arguments) for call in calls]
    assert 2 == len({call.id for call in calls} - {""})
    _, asked, first, second = endpoint.bodies[1]["messages"]
    assert [call["id"] for call in asked["tool_calls"]] == [first["tool_call_id"], second["tool_call_id"]]
    assert ["tool", "tool"] == [first["role"], second["role"]]


@cases("B13")
@either_way
async def test_calls_under_stop(case: Case, stream: bool) -> None:
    """That there are calls decides, not the finish reason."""
    reply = await reply_of(Endpoint(whole(case["input"]["body"])).model(), stream=stream)

    assert ("tool_calls", [["c1", "now", {}]]) == (reply.finish, read(reply.calls))


@cases("B15")
@pytest.mark.parametrize("word", ["error", "never_seen_before"])
@either_way
async def test_a_generation_that_failed(case: Case, word: str, stream: bool) -> None:
    """A finish reason that is not known to be a good one is a failure, which says the word and what it cost."""
    body = case["input"]["body"]
    (choice,) = body["choices"]
    assert "error" == choice["finish_reason"]

    with pytest.raises(Garbled, match=repr(word)) as caught:
        await reply_of(Endpoint(whole({**body, "choices": [{**choice, "finish_reason": word}]})).model(), stream=stream)
    assert metered(body["usage"]) == caught.value.usage


@cases("B16")
@either_way
async def test_an_error_inside_a_success(case: Case, stream: bool) -> None:
    """The code inside decides: this one is a rate limit, which is waited out."""
    with pytest.raises(Overloaded, match="upstream limit"):
        await reply_of(Endpoint(whole(case["input"]["body"])).model(), stream=stream)

    limited = Endpoint(whole(case["input"]["body"]), says("fine"))
    assert "fine" == (await reply_of(limited.retried(), stream=stream)).text
    assert 2 == len(limited.requests)


@cases("B18")
@either_way
async def test_a_null_error(case: Case, stream: bool) -> None:
    """Only an error that is not null counts."""
    assert "fine" == (await reply_of(Endpoint(whole(case["input"]["body"])).model(), stream=stream)).text


@cases("B19")
async def test_an_error_inside_a_stream(case: Case) -> None:
    """It is a typed error with the endpoint's own message."""
    with pytest.raises(Refused, match="quota exceeded"):
        await pieces_of(Endpoint(streamed(stream_of(case))).model())


@cases("B21")
async def test_a_stream_that_just_ends(case: Case) -> None:
    """It is no success: what was shown was not the whole, and is not asked for again."""
    endpoint = Endpoint(streamed(stream_of(case)))
    pieces = endpoint.retried().stream_chat(ASK, NO_CALL)

    assert [TextPiece("The sum is"), TextPiece(" 4")] == [await anext(pieces), await anext(pieces)]
    with pytest.raises(Truncated, match="without a finish reason"):
        await anext(pieces)
    assert 1 == len(endpoint.requests)


@cases("B21")
async def test_a_stream_that_breaks_before_it_began(case: Case) -> None:
    """Nothing was passed on, so it is asked for again."""
    *_, last = CASES["B22"]["input"]["sse_data"]
    endpoint = Endpoint(streamed(b": wait\n\n", httpx.ReadError("reset")), streamed(stream_of(case), events([last])))

    assert "The sum is 4" == (await reply_of(endpoint.retried(), stream=True)).text
    assert 2 == len(endpoint.requests)


NOW = datetime(2025, 1, 1, 12, tzinfo=UTC)


def limited_until(moment: datetime) -> Answer:
    dates = {"date": format_datetime(NOW, usegmt=True), "retry_after": format_datetime(moment, usegmt=True)}
    return whole({"error": {"message": "slow down"}}, status=429, **dates)


@cases("B29")
async def test_a_date_to_wait_for(case: Case) -> None:
    """The wait lasts until that moment and hardly longer, unless the deadline comes first."""
    assert ("<now + 7 s as an HTTP date>", 429) == (case["input"]["headers"]["Retry-After"], case["input"]["status"])
    answer = limited_until(NOW + timedelta(seconds=7))
    model = RetryingModel(Endpoint(answer, says("ok")).model(), jitter=lambda: 1.0)
    began = anyio.current_time()

    assert "ok" == (await model.chat(ASK, NO_CALL)).text
    assert 7.0 <= anyio.current_time() - began <= 8.0

    hurried = Endpoint(answer)
    with pytest.raises(Overloaded, match="wait 7 s"):
        await hurried.retried().chat(ASK, Call(deadline=anyio.current_time() + 5))
    assert 1 == len(hurried.requests)


@cases("B31")
@either_way
async def test_an_empty_account_and_a_full_road(case: Case, stream: bool) -> None:
    """Code and details tell them apart: the first is final, the others are waited out, for as long as the endpoint says."""
    empty, told, plain = (whole(body, status=case["input"]["status"]) for body in case["input"]["bodies"])

    final = Endpoint(empty)
    with pytest.raises(Unauthorized, match="You exceeded your current quota"):
        await reply_of(final.retried(), stream=stream)
    assert 1 == len(final.requests)

    waits = []
    for answer in (told, plain):
        began = anyio.current_time()
        assert "ok" == (await reply_of(Endpoint(answer, says("ok")).retried(), stream=stream)).text
        waits.append(anyio.current_time() - began)
    assert [12.0, 0.5] == pytest.approx(waits, abs=0.2)


@cases("B32")
async def test_an_overload_as_the_first_event(case: Case) -> None:
    """Nothing was shown yet, so it is retried like the status that it stands for."""
    endpoint = Endpoint(streamed(stream_of(case)), streamed(stream_of(CASES["B23"])))

    assert [TextPiece("ok")] == (await pieces_of(endpoint.retried()))[:-1]
    assert 2 == len(endpoint.requests)

    with pytest.raises(Overloaded, match="Overloaded"):
        await pieces_of(Endpoint(streamed(stream_of(case))).model())


@cases("B33")
async def test_a_break_within_a_call(case: Case) -> None:
    """What one attempt had gathered is gone with it: the next one begins clean."""
    *half, reset = case["input"]["attempt_1"]
    assert "<connection reset>" == reset
    broken = streamed(events(half), httpx.ReadError("connection reset"))
    endpoint = Endpoint(broken, streamed(events(case["input"]["attempt_2"])))
    model = endpoint.retried()

    with pytest.raises(Truncated, match="connection reset"):
        await pieces_of(model)
    assert 1 == len(endpoint.requests)
    assert [["c2", "run", {"code": "print(1)"}]] == read((await reply_of(model, stream=True)).calls)


@cases("B35")
@either_way
async def test_ways_to_say_too_long(case: Case, stream: bool) -> None:
    """All of them are one error, and the same request is not sent again."""
    for given in case["input"]["responses"]:
        endpoint = Endpoint(whole(given["body"], status=given["status"]))
        with pytest.raises(WindowExceeded):
            await reply_of(endpoint.retried(), stream=stream)
        assert 1 == len(endpoint.requests)


@cases("B37")
@either_way
async def test_parameters_that_are_refused(case: Case, stream: bool) -> None:
    """The cap is renamed or lowered and the temperature left out, each in one resend; then it is right the first time."""
    renamed, dropped, lowered = (whole(given["body"], status=given["status"]) for given in case["input"]["responses"])
    capped = replace(ASK, max_tokens=24_000, temperature=0.0)

    endpoint = Endpoint(renamed, dropped, says("ok"))
    reply = await reply_of(endpoint.model(), stream=stream, request=capped)
    await reply_of(endpoint.model(), stream=stream, request=capped)
    first, second, third, fourth = map(parameters, endpoint.bodies)
    assert {"max_tokens": 24_000, "temperature": 0.0} == first
    assert {"max_completion_tokens": 24_000, "temperature": 0.0} == second
    assert {"max_completion_tokens": 24_000} == third == fourth
    assert ("ok", Usage(requests=2) + UNMETERED) == (reply.text, reply.usage)

    endpoint = Endpoint(lowered, says("ok"))
    for _ in range(2):
        await reply_of(endpoint.model(base_url="https://y/v1"), stream=stream, request=capped)
    await reply_of(endpoint.model(base_url="https://y/v1"), stream=stream, request=replace(ASK, max_tokens=5))
    assert [24_000, 16_384, 16_384, 5] == [body["max_tokens"] for body in endpoint.bodies]


def parameters(body: Json) -> Json:
    """What a request says besides its messages."""
    return {name: value for name, value in body.items() if name not in ("model", "messages", "stream", "stream_options")}


@cases("B37")
async def test_lessons_end(case: Case) -> None:
    """They hold for one model of one endpoint, for an hour."""
    refused, *_ = (whole(given["body"], status=given["status"]) for given in case["input"]["responses"])
    capped = replace(ASK, max_tokens=9)
    await Endpoint(refused, says("ok")).model().chat(capped, NO_CALL)

    endpoint = Endpoint(says("ok"))
    await endpoint.model().chat(capped, NO_CALL)
    await endpoint.model(base_url="https://y/v1").chat(capped, NO_CALL)
    await anyio.sleep(REMEMBERED + 1)
    await endpoint.model().chat(capped, NO_CALL)
    assert [{"max_completion_tokens": 9}, {"max_tokens": 9}, {"max_tokens": 9}] == list(map(parameters, endpoint.bodies))


TOOLS = {"tools": {"type": "array", "items": {"type": "string"}}}
SCHEMA = {"type": "object", "properties": TOOLS, "required": ["tools"]}
VALUE = {"tools": ["A", "B"]}
QUESTION = (SystemMessage(text="S"), UserMessage(text="Which ones?"))


async def typed(model: Model, schema: Mapping[str, Json] = SCHEMA) -> StructuredCallResult[Any]:
    return await structured_llm_call(model, QUESTION, schema, NO_CALL)


def shows(body: Json, schema: Json) -> bool:
    """Whether the messages of a request hold the schema, and the word that some endpoints insist on."""
    told = "\n\n".join(message["content"] for message in body["messages"])
    return "json" in told.lower() and json.dumps(schema) in told


@cases("B39")
async def test_json_mode_names_json(case: Case) -> None:
    """An endpoint that insists on the word is never given reason to complain."""

    def strict(request: httpx.Request) -> httpx.Response:
        body = orjson.loads(request.content)
        assert {"type": "json_object"} == body["response_format"]
        if "json" not in str(body["messages"]).lower():
            return httpx.Response(case["input"]["status"], json=case["input"]["body"])
        return says(json.dumps(VALUE))()

    door = HttpDoor(httpx.MockTransport(strict))
    model = OpenAIModel("x:m", model="m", base_url="https://x", api_key=None, door=door, abilities={"json_mode": True})
    result = await typed(model)

    assert ("json", 1, VALUE) == (result.rung, result.attempts, result.value)


@cases("B41")
async def test_a_format_that_is_unavailable(case: Case) -> None:
    """Any JSON object is asked for next, and that is no attempt; an empty reply at the cap is a truncation, which is paid for."""
    refused, cut = (whole(given["body"], status=given["status"]) for given in case["input"]["responses"])
    endpoint = Endpoint(refused, cut)

    with pytest.raises(NoTypedAnswer) as caught:
        await typed(endpoint.model(abilities={"json_mode": True, "json_schema": True}))

    assert ["json_schema", "json_object", "json_object"] == [body["response_format"]["type"] for body in endpoint.bodies]
    assert ("json: the reply was cut off at the token limit",) * 2 == caught.value.tried
    assert Usage(requests=3, input_tokens=160, output_tokens=150, reasoning_tokens=150) == caught.value.usage


@cases("B42")
@pytest.mark.parametrize(
    ("status", "kind"),
    [pytest.param(401, Unauthorized, id="401"), pytest.param(429, Overloaded, id="429"), pytest.param(503, Overloaded, id="503")],
)
async def test_a_bad_key_says_nothing_about_features(case: Case, status: int, kind: type[ModelError]) -> None:
    """Such an error passes at once, and the next call begins at the first rung again."""
    (given,) = case["input"]["script"]
    endpoint = Endpoint(whole(given["body"], status=status), answers_by_tool(VALUE))
    model = endpoint.model()

    with pytest.raises(kind, match="Account invalid"):
        await typed(model)
    assert 1 == len(endpoint.requests)

    result = await typed(model)
    assert ("native", VALUE) == (result.rung, result.value)
    assert endpoint.bodies[0] == endpoint.bodies[1]


@cases("B43")
async def test_a_schema_that_is_ignored(case: Case) -> None:
    """After one more question on the same rung the next one is tried; no request is sent twice."""
    (given,) = case["input"]["script"]
    prose = says(given["content"])
    endpoint = Endpoint(prose, prose, says(json.dumps(VALUE)))
    result = await typed(endpoint.model(abilities={"json_mode": True, "json_schema": True}))

    assert ("text", 3, VALUE) == (result.rung, result.attempts, result.value)
    assert ["json_schema", "json_schema", None] == [body.get("response_format", {}).get("type") for body in endpoint.bodies]
    assert 3 == len({request.content for request in endpoint.requests})


@cases("B44")
async def test_each_rung_shows_the_schema(case: Case) -> None:
    """Whatever failed above, the request below says in full what is wanted."""
    assert ["level 1 fails", "level 2 request is inspected"] == case["input"]["script"]
    prose = says("Sure!")
    endpoint = Endpoint(prose, prose, prose, says(json.dumps(VALUE)))
    result = await typed(endpoint.model())
    native, json_mode, again, text = endpoint.bodies

    assert "text" == result.rung
    assert [SCHEMA] == [tool["function"]["parameters"] for tool in native["tools"]]
    assert {"type": "json_object"} == json_mode["response_format"]
    assert all(shows(body, SCHEMA) for body in (json_mode, again, text))


@cases("B45")
@pytest.mark.parametrize("closed", [False, True])
async def test_maps_under_strict_mode(case: Case, closed: bool) -> None:
    """What strict mode can't say is asked for without it, and the schema arrives as it was."""
    schema = {**case["input"]["schema"], "additionalProperties": False} if closed else case["input"]["schema"]
    endpoint = Endpoint(says('{"counts": {"a": 1}}'))
    await endpoint.model().chat(Request(messages=QUESTION, response_format=ResponseFormat(schema=schema)), NO_CALL)
    result = await typed(endpoint.model(abilities={"json_schema": True}), schema)

    assert {"counts": {"a": 1}} == result.value
    sent = [body["response_format"]["json_schema"] for body in endpoint.bodies]
    assert [(False, schema), (False, schema)] == [(each["strict"], each["schema"]) for each in sent]


def history(case: Case, key: str = "messages") -> tuple[Message, ...]:
    """The case's messages as ours."""
    return tuple(_message(given) for given in case["input"][key])


def _message(given: Json) -> Message:
    text = given["content"] or ""
    match given["role"]:
        case "system":
            return SystemMessage(text=text)
        case "user":
            return UserMessage(text=text)
        case "tool":
            return ToolMessage(call_id=given["tool_call_id"], name="t", text=text)
        case _:
            calls = tuple(ToolCall(id=call["id"], **call["function"]) for call in given.get("tool_calls", ()))
            return AssistantMessage(text=text, calls=calls, reasoning=given.get("reasoning_content", ""))


async def sent(messages: Sequence[Message], rules: WireRules = COMPATIBLE) -> list[Json]:
    """The messages as an endpoint gets them."""
    endpoint = Endpoint(says("ok"))
    await endpoint.model(rules=rules).chat(Request(messages=tuple(messages)), NO_CALL)
    on_wire: list[Json] = endpoint.bodies[0]["messages"]
    return on_wire


@cases("B47")
async def test_two_turns_of_one_side(case: Case) -> None:
    """They are sent as one where turns must alternate, and as they are everywhere else."""
    merged = [{"role": "system", "content": "S"}, {"role": "user", "content": "one\n\ntwo"}]

    assert merged == await sent(history(case), WireRules(name="alternating", alternating=True))
    assert case["input"]["messages"] == await sent(history(case))


@cases("B49")
@either_way
async def test_a_system_message_in_the_middle(case: Case, stream: bool) -> None:
    """No endpoint ever sees one."""
    endpoint = Endpoint(says("ok"))

    with pytest.raises(IllegalRequest, match=r"message 2 .*a system message after the head"):
        await reply_of(endpoint.model(), stream=stream, request=Request(messages=history(case)))
    assert [] == endpoint.requests


def asks(*names: str) -> Answer:
    calls = [{"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}} for name in names]
    return whole({"choices": [{"message": {"content": None, "tool_calls": calls}, "finish_reason": "tool_calls"}]})


@cases("B50")
async def test_tools_of_any_name(case: Case) -> None:
    """Each tool has a name of its own on the wire, in tools and history; its calls come back and run; a fair name is kept."""
    names = [*case["input"]["tools"], "files_read"]
    ran: list[str] = []
    tools = ToolRegistry(tool(name=name)(lambda name=name: ran.append(name)) for name in names)
    first = Endpoint(says("hm"))
    await first.model().chat(Request(messages=ASK.messages, tools=tools.specs), NO_CALL)
    on_wire = [entry["function"]["name"] for entry in first.bodies[0]["tools"]]

    endpoint = Endpoint(asks(*on_wire), says("done"))
    result = await ReActAgent(endpoint.model(), tools).run("go")

    assert ("calendar_create", "Scan_Dockerfile", "files_read") == (on_wire[0], on_wire[2], on_wire[3])
    assert re.fullmatch("files_read_[0-9a-f]{8}", on_wire[1])
    assert names == ran
    assert ("completed", "done") == (result.outcome, result.answer)
    *_, asked, _, _, _, _ = endpoint.bodies[1]["messages"]
    assert on_wire == [call["function"]["name"] for call in asked["tool_calls"]]
    assert endpoint.bodies[0]["tools"] == endpoint.bodies[1]["tools"]


@cases("B55")
@either_way
async def test_what_only_the_endpoint_understands_of_a_call(case: Case, stream: bool) -> None:
    """It comes back unchanged after the reply was written down and read; a call that came without it goes back without it."""
    given = case["input"]["response"]
    (entry,) = given["choices"][0]["message"]["tool_calls"]
    endpoint = Endpoint(whole(given), asks("t"), says("done"))
    model = endpoint.model()
    messages = ASK.messages
    for _ in range(2):
        reply = after_a_restart(await reply_of(model, stream=stream, request=Request(messages=messages)))
        results = [ToolMessage(call_id=call.id, name=call.name, text="ok") for call in reply.calls]
        messages = (*messages, Native().said(reply), *results)
    await model.chat(Request(messages=messages), NO_CALL)

    _, signed, _, unsigned, _ = endpoint.bodies[2]["messages"]
    assert [entry] == signed["tool_calls"]
    assert json.dumps(entry["extra_content"], separators=(",", ":")).encode() in endpoint.requests[2].content
    assert {"id", "type", "function"} == unsigned["tool_calls"][0].keys()


def after_a_restart(reply: Reply) -> Reply:
    """The reply as a resumed run has it from the journal."""
    told = ModelReplied(key="k", scope="s", purpose="step", step="a", iteration=1, reply=reply, seconds=0.0)
    event = decode(encode(Recorded(seq=1, time=0.0, run="r", event=told))).event
    assert isinstance(event, ModelReplied)
    return event.reply


@cases("B52")
async def test_empty_turns(case: Case) -> None:
    """Calls without a text have null for it; a turn with neither is left out."""
    user, asked, told = case["input"]["messages"]
    right = [user, {**asked, "content": None}, told]

    assert right == await sent(history(case))
    assert right == await sent((*history(case), AssistantMessage(text="")))


@cases("B53")
async def test_reasoning_goes_back(case: Case) -> None:
    """What a model thought is kept, and sent back to those endpoints that insist on it."""
    user, asked, told = case["input"]["history"]
    thinks = Endpoint(whole({"choices": [{"message": asked, "finish_reason": "tool_calls"}]}))
    reply = await thinks.model().chat(ASK, NO_CALL)
    said = AssistantMessage(text=reply.text, calls=reply.calls, reasoning=reply.reasoning)
    messages = history(case, "history")

    assert messages[1] == said
    assert [user, asked, told] == await sent(messages, WireRules(name="echoing", reasoning_field="reasoning_content"))
    assert "think" not in str(await sent(messages))


@cases("B56")
@either_way
async def test_a_web_page_for_an_error(case: Case, stream: bool) -> None:
    """The status counts, so it is retried; the page is quoted by its title."""
    with pytest.raises(Overloaded, match=r"a web page: 502 Bad Gateway$"):
        await reply_of(Endpoint(page(case)).model(), stream=stream)

    endpoint = Endpoint(page(case), says("ok"))
    assert "ok" == (await reply_of(endpoint.retried(), stream=stream)).text


@cases("B57")
@either_way
async def test_a_web_page_for_an_answer(case: Case, stream: bool) -> None:
    """It is not asked for again, and the error asks about the base URL."""
    endpoint = Endpoint(page(case))

    with pytest.raises(Garbled, match=r"a web page: Portal; does the base URL lack its path, such as /v1\?"):
        await reply_of(endpoint.retried(), stream=stream)
    assert 1 == len(endpoint.requests)


@cases("B57")
async def test_base_urls(case: Case) -> None:
    """With or without a slash at its end, a base URL leads to one path, in which nothing stands twice."""
    base, endpoint = case["input"]["base_url"], Endpoint(says("ok"))
    for url in (base, f"{base}/", f"{base}/v1", f"{base}/v1/", f"{base}/v1/chat/completions"):
        await endpoint.model(base_url=url).chat(ASK, NO_CALL)

    plain, versioned = f"{base}/chat/completions", f"{base}/v1/chat/completions"
    assert [plain, plain, versioned, versioned, versioned] == [str(request.url) for request in endpoint.requests]


@cases("B58")
@either_way
async def test_which_statuses_are_retried(case: Case, stream: bool) -> None:
    """One table for both ways of asking, bounded by attempts."""
    asked = {}
    for status in case["input"]["statuses"]:
        endpoint = Endpoint(whole({"error": {"message": "no"}}, status=int(status)))
        with pytest.raises(ModelError):
            await reply_of(endpoint.retried(), stream=stream)
        asked[status] = len(endpoint.requests)

    transient = {"408", "409", "425", "429", "500", "502", "503", "504", "529"}
    assert {status: MOST_ATTEMPTS if status in transient else 1 for status in case["input"]["statuses"]} == asked


@cases("B58")
@either_way
async def test_what_ends_the_retries(case: Case, stream: bool) -> None:
    """An unsupported feature is final whatever its status, and so is the deadline."""
    assert "retry, unless the body names an unsupported feature" == case["input"]["statuses"]["500"]
    unsupported = Endpoint(whole({"error": {"type": "not_supported_error", "message": "no grammar"}}, status=500))
    with pytest.raises(Refused, match="no grammar"):
        await reply_of(unsupported.retried(), stream=stream)
    assert 1 == len(unsupported.requests)

    down = Endpoint(whole({}, status=503))
    with pytest.raises(Overloaded):
        await down.retried().chat(ASK, Call(deadline=anyio.current_time() + 1))
    assert 2 == len(down.requests)


def zstd_frame(data: bytes) -> bytes:
    """A complete frame that holds the data in one raw block."""
    block = (len(data) << 3 | 1).to_bytes(3, "little")
    return b"\x28\xb5\x2f\xfd\x60" + (len(data) - 256).to_bytes(2, "little") + block + data


@cases("B59")
@either_way
async def test_answers_that_are_compressed_unasked(case: Case, stream: bool) -> None:
    """Only plain answers are asked for; one that can't be read is a fault of the transport, whatever is installed."""
    frames = [zstd_frame(b"data: %s\n\n" % each.ljust(300)) for each in (b'{"choices":[]}', b"[DONE]")]
    endpoint = Endpoint(lambda: httpx.Response(200, headers=case["input"]["headers"], stream=Body(*frames)))

    with pytest.raises(Unreachable, match="zstd data, which nobody asked for"):
        await reply_of(endpoint.model(), stream=stream)
    assert ["identity"] == [request.headers["accept-encoding"] for request in endpoint.requests]
