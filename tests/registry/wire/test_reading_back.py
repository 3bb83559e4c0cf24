"""Whatever the row, the bytes of a request say what the transcript said, the same bytes each time, and more only at the end."""

import re
from collections.abc import Iterator
from itertools import groupby

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from registry.errors import Refused
from registry.messages import (
    AssistantMessage,
    Json,
    Message,
    Reply,
    Request,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from registry.wire.learning import adjusted
from registry.wire.legal import legal
from registry.wire.lower import lower
from registry.wire.naming import Naming, naming
from registry.wire.rules import COMPATIBLE, LLAMA_CPP, OPENAI, WireRules
from registry.wire.surrogates import mended

CAP = 4_096
REFUSALS = tuple(
    Refused("https://x", why, parameter=parameter, status=400)
    for parameter, why in (
        ("max_tokens", "unknown"),
        ("max_completion_tokens", "unknown"),
        ("max_tokens", "must be at most 512"),
        ("max_completion_tokens", "must be at most 512"),
        ("temperature", "unsupported"),
        ("tool_choice", "unsupported"),
        ("tool_choice", "unsupported"),
        ("response_format", "unsupported"),
        ("stream_options", "unsupported"),
        ("messages[0].role", "unsupported"),
        ("messages[1].tool_calls[0].extra_content", "unknown"),
    )
)


def taught(rules: WireRules) -> Iterator[WireRules]:
    """The row, what each refusal alone makes of it, and what all of them do, one after the other."""
    yield rules
    yield from (after for refusal in REFUSALS if (after := adjusted(rules, refusal, cap=CAP)))
    for refusal in REFUSALS:
        rules = adjusted(rules, refusal, cap=CAP) or rules
        yield rules


ECHOING = WireRules(name="echoing", reasoning_field="reasoning_content")
ALTERNATING = WireRules(name="alternating", alternating=True, reasoning_field="reasoning")
ROWS = tuple(dict.fromkeys(row for known in (OPENAI, LLAMA_CPP, COMPATIBLE, ECHOING, ALTERNATING) for row in taught(known)))

texts = st.text(st.characters(), max_size=12)  # halves of characters too
arguments = st.one_of(
    texts,
    st.sampled_from(
        ["", "{}", '{"a": 1}', '{"a": ', "[1]", "null", '{"a": "\\ud83d"}', '{"a": 1, "a": 2}', '{"é": 12345678901234567890}']
    ),
)
names = st.sampled_from(
    ["add", "sub", "files/read", "files.read", "files_read", "Scan Dockerfile", "é", "x" * 70, "functions.f", ""]
)
extras = st.sampled_from(["", "", '{"extra_content":{"google":{"thought_signature":"AbC="}}}', '{"a":[1],"function":{"b":{}}}'])


@st.composite
def laps(draw: st.DrawFn) -> tuple[Message, ...]:
    """Some messages that may follow any others: what one side says, or calls and their results in any order."""
    if draw(st.booleans()):
        return (UserMessage(text=draw(texts), pinned=draw(st.booleans())),)
    ids = draw(st.lists(st.text("abé ", max_size=3), unique=True, max_size=3))
    calls = tuple(ToolCall(id=id, name=draw(names), arguments=draw(arguments), extra=draw(extras)) for id in ids)
    results = draw(st.permutations([ToolMessage(call_id=call.id, name=call.name, text=draw(texts)) for call in calls]))
    return (AssistantMessage(text=draw(texts), calls=calls, reasoning=draw(texts)), *results)


heads = st.one_of(st.builds(SystemMessage, text=texts), st.builds(UserMessage, text=texts))
transcripts = st.builds(lambda head, rest: (head, *sum(rest, ())), heads, st.lists(laps(), max_size=6))
ADD = ToolSpec(name="add", description="Adds.", parameters={"type": "object"})
SUB = ToolSpec(name="sub", description="Subtracts.", parameters={"type": "object"})
ODD = tuple(ToolSpec(name=name, description="", parameters={}) for name in ("files/read", "files_read", "files.read", "é"))
requests = st.builds(
    Request,
    messages=transcripts,
    tools=st.sampled_from([(), (ADD, SUB), ODD]),
    tool_choice=st.sampled_from(["auto", "none", "required", "sub", "files.read"]),
    max_tokens=st.sampled_from([None, CAP]),
    temperature=st.sampled_from([None, 0.0, 0.5]),
)


def named(request: Request, rules: WireRules) -> Naming:
    return naming(request.tools, legal(request.messages), rules.longest_name)


def sent(request: Request, rules: WireRules, *, stream: bool = False) -> bytes:
    return lower(named(request, rules).lowered(request), model="m", rules=rules, stream=stream)


def read_back(body: bytes, rules: WireRules, names: Naming) -> list[Message]:
    """The messages in a request, as an endpoint understands them, whose calls of the same names would come back so."""
    messages: list[Message] = []
    called: dict[str, str] = {}
    for said in orjson.loads(body)["messages"]:
        match said["role"]:
            case "system":
                messages.append(SystemMessage(text=said["content"]))
            case "user":
                messages.append(UserMessage(text=said["content"]))
            case "assistant":
                calls = names.lifted(Reply(calls=tuple(read_call(entry) for entry in said.get("tool_calls", ())))).calls
                called |= {call.id: call.name for call in calls}
                thought = said.get(rules.reasoning_field, "")
                messages.append(AssistantMessage(text=said["content"] or "", calls=calls, reasoning=thought))
            case "tool":
                answered = said["tool_call_id"]
                messages.append(ToolMessage(call_id=answered, name=called[answered], text=said["content"]))
    return messages


def read_call(entry: Json) -> ToolCall:
    text = entry["function"]["arguments"]
    written = orjson.loads(text)
    assert isinstance(written, dict)
    name = entry["function"]["name"]
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
    extra = {key: value for key, value in entry.items() if key not in ("id", "type", "function")}
    if within := {key: value for key, value in entry["function"].items() if key not in ("name", "arguments")}:
        extra["function"] = within
    told = orjson.dumps(extra).decode() if extra else ""
    return ToolCall(id=entry["id"], name=name, arguments=written.get("unreadable", text), extra=told)


def meant(messages: tuple[Message, ...], rules: WireRules) -> list[Message]:
    """What is to be read back where no turns are joined."""
    kept: list[Message] = []
    for message in messages:
        match message:
            case SystemMessage(text=text) if rules.system_role:
                kept.append(SystemMessage(text=mended(text)))
            case SystemMessage(text=text) | UserMessage(text=text):
                kept.append(UserMessage(text=mended(text)))
            case ToolMessage(text=text):
                kept.append(replace(message, text=mended(text)))
            case AssistantMessage(text=text, calls=calls) if text or calls:
                thought = mended(message.reasoning) if rules.reasoning_field else ""
                whole = tuple(
                    replace(call, arguments=mended(call.arguments), extra=call.extra if rules.call_extras else "")
                    for call in calls
                )
                kept.append(AssistantMessage(text=mended(text), calls=whole, reasoning=thought))
    return kept


def joined(messages: list[Message]) -> list[Message]:
    """The same with each side's neighbouring turns as one."""
    turns: list[Message] = []
    for role, neighbours in groupby(messages, lambda message: message.role):
        said = list(neighbours)
        match role, said[-1]:
            case "user", _:
                turns.append(UserMessage(text="\n\n".join(message.text for message in said)))
            case "assistant", AssistantMessage(calls=calls):
                thoughts = [message.reasoning for message in said if isinstance(message, AssistantMessage) and message.reasoning]
                text = "\n\n".join(message.text for message in said if message.text)
                turns.append(AssistantMessage(text=text, calls=calls, reasoning=thoughts[-1] if thoughts else ""))
            case _:
                turns.extend(said)
    return turns


@settings(max_examples=150)
@given(requests)
def test_the_bytes_say_what_the_transcript_said(request: Request) -> None:
    """Roles, texts, calls and results come back as they were; a row decides only which neighbours are one turn."""
    legal(request.messages)
    for rules in ROWS:
        read = read_back(sent(request, rules), rules, named(request, rules))
        wanted = meant(request.messages, rules)

        assert joined(wanted) == joined(read)
        assert read == (joined(wanted) if rules.alternating else wanted) or not rules.system_role


@settings(max_examples=50)
@given(requests, st.booleans())
def test_the_same_request_is_the_same_bytes(request: Request, stream: bool) -> None:
    """Encoding anew gives what was remembered."""
    for rules in ROWS:
        once = sent(request, rules, stream=stream)

        assert once == sent(request, rules, stream=stream)
        assert once == sent(request, replace(rules), stream=stream)  # a row that nothing is remembered for


@settings(max_examples=150)
@given(requests, st.lists(laps(), min_size=1, max_size=4))
def test_what_was_sent_stays_the_beginning(request: Request, more: list[tuple[Message, ...]]) -> None:
    """Messages that are added change no byte before them, but for a last turn that they are joined to."""
    longer = replace(request, messages=(*request.messages, *sum(more, ())))
    for rules in ROWS:
        earlier, later = (sent(each, rules) for each in (request, longer))

        beginning = earlier.removesuffix(b"]}")
        if rules.alternating or not rules.system_role:
            beginning = beginning.removesuffix(orjson.dumps(orjson.loads(earlier)["messages"][-1]))
        assert later.startswith(beginning)
