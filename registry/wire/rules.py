"""What sets one kind of endpoint apart from another, as data."""

from msgspec import Struct


class WireRules(Struct, frozen=True, kw_only=True, eq=False):
    """One row of quirks. Rows are compared by identity, so wire forms can be cached by them.

    `json_schema`: it is taken to enforce a schema given as `response_format`. `named_tool_choice`: it can be told to call one
    tool by name; otherwise that tool alone is offered and some call required. `stream_usage`: it reports usage in a stream
    when asked. `reasoning_field`: where it wants its own earlier reasoning back; None when it wants none. `alternating`: its
    chat template refuses two turns of one side in a row, so such neighbours are sent as one. `longest_name`: how many characters
    it takes as a tool's name.

    The others are mostly learnt from refusals. `max_tokens_renamed`: the cap's parameter is already the second one tried.
    `most_tokens`: the largest cap it takes. `temperature`: it takes one. `tool_choice`: it takes one at all; otherwise what may
    be called is said by what is offered. `schema_format`: it takes a schema as `response_format`; otherwise any JSON object is
    asked for. `system_role`: it knows that role; otherwise the user says what the system would. `call_extras`: it takes back what
    only it understands of a call.
    """

    name: str
    max_tokens_parameter: str = "max_tokens"
    max_tokens_renamed: bool = False
    most_tokens: int | None = None
    temperature: bool = True
    json_schema: bool = True
    schema_format: bool = True
    named_tool_choice: bool = True
    tool_choice: bool = True
    stream_usage: bool = True
    system_role: bool = True
    reasoning_field: str | None = None
    alternating: bool = False
    longest_name: int = 64
    call_extras: bool = True


OPENAI = WireRules(name="openai", max_tokens_parameter="max_completion_tokens")
LLAMA_CPP = WireRules(name="llama.cpp", named_tool_choice=False)
COMPATIBLE = WireRules(name="compatible", json_schema=False)
"""Any other endpoint that speaks this protocol."""
