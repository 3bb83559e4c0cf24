"""From the JSON that an OpenAI-compatible endpoint sends to a neutral Reply, whatever its dialect of the protocol.

What is lifted here field by field serves whole replies and streams alike.
"""

import json
import re
from collections.abc import Collection, Mapping, Set

import orjson
from msgspec.structs import replace

from registry.errors import Garbled
from registry.messages import Finish, Json, Reply, ToolCall
from registry.usage import UNMETERED, Usage
from registry.wire.faults import fault_inside, looks_like_html, readable
from registry.wire.surrogates import encoded, mended
from registry.wire.thinking import split_thinking

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
MOST = 2**53
"""A count of tokens beyond this is none."""

_LONG_NUMBER = b"0" * 19
_ALL_DIGITS_NOUGHT = bytes.maketrans(b"123456789", b"000000000")
_AS_A_VALUE = re.compile(rb"[\s:,\[-]\d{19}")

DEEPEST = 250
"""Levels of nesting beyond which JSON is not read: no writer of JSON that we have would get it out again."""

_OF_FUNCTIONS = {"name", "arguments"}
_OF_CALLS = {"id", "type", "index", "function", *_OF_FUNCTIONS}

_NUMBERS = int, float
_DETAILS = ("prompt_tokens_details", "input_tokens_details", "completion_tokens_details", "output_tokens_details")
_FAILED = {"abort", "error", "insufficient_system_resource", "malformed_function_call", "network_error"}


def lift(body: bytes, *, endpoint: str, taken: Collection[str] = ()) -> Reply:
    """The reply in a whole answer. `taken` are the call ids of the transcript, which the new ones must not repeat.

    Raises Garbled, or the typed error that the endpoint put into its answer.
    """
    value = decoded(body, endpoint)
    if not isinstance(value, dict):
        raise Garbled(endpoint, f"JSON, but no object: {readable(body)}")
    refuse_error(value, endpoint)
    choice = first_choice(value)
    message = choice and (choice.get("message") or choice.get("delta") or {"content": choice.get("text")})
    if not choice or not isinstance(message, dict):
        raise Garbled(endpoint, f"no choices in {readable(body)}")
    refuse_error(choice, endpoint)
    calls = tuple([call for entry in call_entries(message) if (call := _call(entry))])
    calls = unique(calls, taken) if calls else calls
    usage = usage_of(value.get("usage"))
    finish = finish_of(choice.get("finish_reason"), endpoint, calls=bool(calls), refused=bool(refusal(message)), usage=usage)
    thought, text = split_thinking(content(message) or refusal(message), cut_off=finish == "length")
    return Reply(
        text=mended(text),
        calls=calls,
        reasoning=mended(reasoning(message) or thought),
        finish=finish,
        usage=usage,
        model=model_of(value),
    )


def decoded(data: bytes, endpoint: str) -> Json:
    """The JSON value; Garbled when it is none, or too deep. Half characters in escapes are let through, to be mended later."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = _decoded_leniently(data, endpoint)
    if (b"_call" in data or b"tool_use" in data) and _has_long_number(data):
        # The fast reader rounds whole numbers beyond 64 bits, and what a tool is given must be exact.
        value = _decoded_leniently(data, endpoint)
    if len(data) > 2 * DEEPEST and data.count(b"[") + data.count(b"{") > DEEPEST and _depth(value) > DEEPEST:
        raise _garbled(data, endpoint)
    return value


def _has_long_number(data: bytes) -> bool:
    """Cheap where there are no long rows of digits; an id may have one, and is no number."""
    return _LONG_NUMBER in data.translate(_ALL_DIGITS_NOUGHT) and _AS_A_VALUE.search(data) is not None


def _decoded_leniently(data: bytes, endpoint: str) -> Json:
    try:
        return json.loads(data.decode(errors="replace"), strict=False)
    except (ValueError, RecursionError):
        raise _garbled(data, endpoint) from None


def _garbled(data: bytes, endpoint: str) -> Garbled:
    hint = "; does the base URL lack its path, such as /v1?" if looks_like_html(data) else ""
    return Garbled(endpoint, f"{readable(data) or 'an empty body'}{hint}")


def _depth(value: Json) -> int:
    """How many containers stand one inside the other."""
    depth, level = 0, [value]
    while level := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
    return depth


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
    return _joined(message.get("content"), thinking=False)


def reasoning(message: Mapping[str, Json]) -> str:
    """What is thought, in the field that the endpoint has for it. Two fields hold the same thought."""
    for field in ("reasoning_content", "reasoning"):
        if isinstance(thought := message.get(field), str) and thought:
            return thought
    return _joined(message.get("content"), thinking=True)


def refusal(message: Mapping[str, Json]) -> str:
    said = message.get("refusal")
    return said if isinstance(said, str) else ""


def _joined(parts: Json, *, thinking: bool) -> str:
    if isinstance(parts, str):
        return "" if thinking else parts
    texts = []
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, str):
            texts.append("" if thinking else part)
        elif isinstance(part, dict) and (part.get("type") in ("thinking", "reasoning")) == thinking:
            inner = part.get("thinking") if thinking else None
            texts.append(_joined(inner or part.get("text"), thinking=False))
    return "".join(texts)


def call_entries(message: Mapping[str, Json]) -> list[dict[str, Json]]:
    """The tool calls as the endpoint lists them; the single call of the older protocol counts as one."""
    entries = message.get("tool_calls")
    found = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    legacy = message.get("function_call")
    return found or ([{"function": legacy}] if isinstance(legacy, dict) else [])


def call_parts(entry: Mapping[str, Json]) -> tuple[str, str, str]:
    """Id, name and arguments of one entry, each "" when absent. Arguments given as JSON become text."""
    function = entry.get("function")
    said: Mapping[str, Json] = function if isinstance(function, dict) else entry
    name, arguments, given = said.get("name"), said.get("arguments"), entry.get("id")
    if arguments is not None and not isinstance(arguments, str):
        arguments = encoded(arguments).decode()
    return (
        mended(str(given).strip()) if isinstance(given, str | int) else "",
        mended(name.strip().removeprefix("functions.")) if isinstance(name, str) else "",
        arguments or "",
    )


def _call(entry: Mapping[str, Json]) -> ToolCall | None:
    given, name, arguments = call_parts(entry)
    extra = extra_text(call_extra(entry))
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


def unique(calls: tuple[ToolCall, ...], taken: Collection[str]) -> tuple[ToolCall, ...]:
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


def usage_of(value: Json) -> Usage:
    """What one reply cost. Unmetered unless both input and output are told; one of them alone is a lower bound."""
    if not isinstance(value, dict):
        return UNMETERED
    told = _counts(value)
    within = {name: n for key in _DETAILS if isinstance(group := value.get(key), dict) for name, n in _counts(group).items()}
    read = told.get("cache_read_input_tokens") or within.get("cached_tokens") or told.get("prompt_cache_hit_tokens", 0)
    write = told.get("cache_creation_input_tokens") or within.get("cache_write_tokens", 0)
    thought = within.get("reasoning_tokens", 0)
    came = told.get("prompt_tokens") or told.get("input_tokens", 0)
    went = told.get("completion_tokens") or told.get("output_tokens", 0)
    if "prompt_tokens" not in value and "cache_read_input_tokens" in value:
        came += read + write  # here the input is told without what the cache held
    if thought and told.get("total_tokens") == came + went + thought:
        went += thought  # and here the output without the thinking
    metered = came > 0 and (went > 0 or any(isinstance(value.get(key), int) for key in ("completion_tokens", "output_tokens")))
    return Usage(
        requests=1,
        input_tokens=came,
        output_tokens=went,
        cache_read_tokens=read,
        cache_write_tokens=write,
        reasoning_tokens=thought,
        unmetered=0 if metered else 1,
    )


def _counts(group: Mapping[str, Json]) -> dict[str, int]:
    return {name: int(number) for name, number in group.items() if isinstance(number, _NUMBERS) and 0 < number <= MOST}
