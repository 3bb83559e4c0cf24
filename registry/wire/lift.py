"""From the JSON that an OpenAI-compatible endpoint sends to a neutral Reply, whatever its dialect of the protocol.

What is lifted here field by field serves whole replies and streams alike.
"""

from collections.abc import Collection, Mapping, Sequence, Set

from msgspec import Struct
from msgspec.structs import replace

from registry.errors import Garbled
from registry.messages import Finish, Json, Reply, ToolCall
from registry.usage import UNMETERED, Usage
from registry.wire.decoding import decoded
from registry.wire.faults import fault_inside, readable
from registry.wire.metering import metered, usage_of
from registry.wire.surrogates import encoded, mended
from registry.wire.thinking import split_thinking
from registry.wire.usual import Answer, usual

_FINISH: Mapping[str, Finish] = {
    "": "stop",
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "complete": "stop",
    "completed": "stop",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "refused",
    "refusal": "refused",
    "safety": "refused",
    "recitation": "refused",
    "blocklist": "refused",
    "prohibited_content": "refused",
    "guardrail_intervened": "refused",
}
_OF_FUNCTIONS = {"name", "arguments"}
_OF_CALLS = {"id", "type", "index", "function", *_OF_FUNCTIONS}
_FAILED = {"abort", "error", "insufficient_system_resource", "malformed_function_call", "network_error"}


def lift(body: bytes, *, endpoint: str, taken: Collection[str] = ()) -> Reply:
    """The reply in a whole answer. `taken` are the call ids of the transcript, which the new ones must not repeat.

    Raises Garbled, or the typed error that the endpoint put into its answer.
    """
    answer = usual(body)
    said = _understood(body, endpoint) if answer is None else _told(answer)
    calls = unique(said.calls, taken) if said.calls else ()
    finish = finish_of(said.finish, endpoint, calls=bool(calls), refused=bool(said.refusal), usage=said.usage)
    thought, text = split_thinking(said.content or said.refusal, cut_off=finish == "length")
    return Reply(
        text=mended(text),
        calls=calls,
        reasoning=mended(said.reasoning or thought),
        finish=finish,
        usage=said.usage,
        model=said.model,
    )


class _Said(Struct, frozen=True, kw_only=True):
    """What an answer says, whichever way it is said."""

    content: str
    reasoning: str
    refusal: str
    calls: list[ToolCall]
    finish: Json
    usage: Usage
    model: str


def _told(answer: Answer) -> _Said:
    """What was read by its type already."""
    (choice,) = answer.choices
    message = choice.message
    return _Said(
        content=message.content or "",
        reasoning=message.reasoning_content or message.reasoning or "",
        refusal=message.refusal or "",
        calls=[
            call
            for entry in message.tool_calls or ()
            if (call := _call(_id(entry.id), _name(entry.function.name), entry.function.arguments))
        ],
        finish=choice.finish_reason,
        usage=UNMETERED if answer.usage is None else metered(answer.usage),
        model=answer.model,
    )


def _understood(body: bytes, endpoint: str) -> _Said:
    """What can be made out in any dialect."""
    value = decoded(body, endpoint)
    if not isinstance(value, dict):
        raise Garbled(endpoint, f"JSON, but no object: {readable(body)}")
    refuse_error(value, endpoint)
    choice = first_choice(value)
    message = choice and (choice.get("message") or choice.get("delta") or {"content": choice.get("text")})
    if not choice or not isinstance(message, dict):
        raise Garbled(endpoint, f"no choices in {readable(body)}")
    refuse_error(choice, endpoint)
    return _Said(
        content=content(message),
        reasoning=reasoning(message),
        refusal=refusal(message),
        calls=[
            call for entry in call_entries(message) if (call := _call(*call_parts(entry), extra=extra_text(call_extra(entry))))
        ],
        finish=choice.get("finish_reason"),
        usage=usage_of(value.get("usage")),
        model=model_of(value),
    )


def refuse_error(value: Mapping[str, Json], endpoint: str) -> None:
    """Raise what the endpoint reports as an error inside a success. A null error is none."""
    if error := value.get("error"):
        raise fault_inside(endpoint, error)


def first_choice(value: Mapping[str, Json]) -> dict[str, Json] | None:
    """The choice with index 0, or without one; None when there is no such."""
    choices = value.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and choice.get("index") in (0, None):
            return choice
    return None


def content(message: Mapping[str, Json]) -> str:
    """What is said: a text, a list of parts, or null."""
    said = message.get("content")
    return said if isinstance(said, str) else _joined(said, thinking=False)


def reasoning(message: Mapping[str, Json]) -> str:
    """What is thought, in the field that the endpoint has for it. Two fields hold the same thought."""
    for field in ("reasoning_content", "reasoning"):
        if isinstance(thought := message.get(field), str) and thought:
            return thought
    said = message.get("content")
    return "" if isinstance(said, str) else _joined(said, thinking=True)


def refusal(message: Mapping[str, Json]) -> str:
    said = message.get("refusal")
    return said if isinstance(said, str) else ""


def _joined(parts: Json, *, thinking: bool) -> str:
    texts = []
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, str):
            texts.append("" if thinking else part)
        elif isinstance(part, dict) and (part.get("type") in ("thinking", "reasoning")) == thinking:
            inner = part.get("thinking") if thinking else None
            texts.append(content({"content": inner or part.get("text")}))
    return "".join(texts)


def call_entries(message: Mapping[str, Json]) -> list[dict[str, Json]]:
    """The tool calls as the endpoint lists them; the single call of the older protocol counts as one."""
    entries = message.get("tool_calls")
    if isinstance(entries, list) and (found := [entry for entry in entries if isinstance(entry, dict)]):
        return found
    legacy = message.get("function_call")
    return [{"function": legacy}] if isinstance(legacy, dict) else []


def call_parts(entry: Mapping[str, Json]) -> tuple[str, str, str]:
    """Id, name and arguments of one entry, each "" when absent. Arguments given as JSON become text."""
    function = entry.get("function")
    said: Mapping[str, Json] = function if isinstance(function, dict) else entry
    name, arguments, given = said.get("name"), said.get("arguments"), entry.get("id")
    if arguments is not None and not isinstance(arguments, str):
        arguments = encoded(arguments).decode()
    return (
        _id(str(given)) if isinstance(given, str | int) else "",
        _name(name) if isinstance(name, str) else "",
        arguments or "",
    )


def _id(given: str) -> str:
    return mended(given.strip())


def _name(given: str) -> str:
    return mended(given.strip().removeprefix("functions."))


def _call(given: str, name: str, arguments: str, *, extra: str = "") -> ToolCall | None:
    """None for one that says nothing."""
    return ToolCall(id=given, name=name, arguments=written(arguments), extra=extra) if name or arguments else None


def call_extra(entry: Mapping[str, Json]) -> dict[str, Json]:
    """What else one entry holds, for its endpoint alone to understand. What is null says nothing."""
    function = entry.get("function")
    inner: Mapping[str, Json] = function if isinstance(function, dict) else {}
    if entry.keys() <= _OF_CALLS and inner.keys() <= _OF_FUNCTIONS:  # nearly always
        return {}
    extra, within = _beyond(_OF_CALLS, entry), _beyond(_OF_FUNCTIONS, inner)
    return {**extra, "function": within} if within else extra


def _beyond(known: Set[str], said: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in said.items() if name not in known and value is not None}


def extra_text(extra: Mapping[str, Json]) -> str:
    """The same as JSON text, "" for nothing."""
    return encoded(extra).decode() if extra else ""


def written(arguments: str) -> str:
    """Arguments as a model wrote them; of a call without any, the empty object."""
    return mended(arguments) if arguments.strip() else "{}"


def unique(calls: Sequence[ToolCall], taken: Collection[str]) -> tuple[ToolCall, ...]:
    """The calls with ids that differ from each other and from all in `taken`. An id that does already is kept."""
    seen = set(taken)
    own: list[ToolCall] = []
    for call in calls:
        name, n = call.id or "call_1", 1
        while name in seen:
            n += 1
            name = f"{call.id or 'call'}_{n}"
        seen.add(name)
        own.append(call if name == call.id else replace(call, id=name))
    return tuple(own)


def finish_of(word: Json, endpoint: str, *, calls: bool, refused: bool, usage: Usage) -> Finish:
    """How a reply ended. Calls and refusals count more than the word.

    Garbled, at the cost of `usage`, when the word says that the generation failed, or nobody knows what it says.
    """
    known = word.lower() if isinstance(word, str) else ""
    if known in _FAILED or not (known in _FINISH or calls or refused):
        raise Garbled(endpoint, f"the generation failed with finish_reason {word!r}", usage=usage)
    if refused:
        return "refused"
    finish = _FINISH.get(known, "tool_calls")
    if calls:
        return finish if finish in ("length", "refused") else "tool_calls"
    return "stop" if finish == "tool_calls" else finish


def model_of(value: Mapping[str, Json]) -> str:
    name = value.get("model")
    return mended(name) if isinstance(name, str) else ""
