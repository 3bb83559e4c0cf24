"""What a reply cost, as endpoints tell it: each names its counts in its own way."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct, ValidationError, convert

from registry.messages import Json
from registry.usage import UNMETERED, Usage

MOST = 2**53
"""A count of tokens beyond this is none."""

Count = Annotated[int, Meta(ge=0, le=MOST)] | None


class Details(Struct, frozen=True, kw_only=True):
    """What is within a count."""

    cached_tokens: Count = None
    cache_write_tokens: Count = None
    reasoning_tokens: Count = None


class Told(Struct, frozen=True, kw_only=True):
    """What an endpoint tells, by all the names that there are for it."""

    prompt_tokens: Count = None
    input_tokens: Count = None
    completion_tokens: Count = None
    output_tokens: Count = None
    total_tokens: Count = None
    prompt_cache_hit_tokens: Count = None
    cache_read_input_tokens: Count = None
    cache_creation_input_tokens: Count = None
    prompt_tokens_details: Details | None = None
    input_tokens_details: Details | None = None
    completion_tokens_details: Details | None = None
    output_tokens_details: Details | None = None


_DETAILS = tuple(name for name in Told.__struct_fields__ if name.endswith("_details"))
_COUNTS = {*Told.__struct_fields__, *Details.__struct_fields__} - {*_DETAILS}
_NUMBERS = int, float
_NONE = Details()


def usage_of(value: Json) -> Usage:
    """What one reply cost, by the JSON that tells it. What is no count in it is as if it weren't there."""
    if not isinstance(value, dict):
        return UNMETERED
    try:
        told = convert(value, Told)
    except (ValidationError, UnicodeEncodeError):  # half a character is the cause of the other one
        within = {name: _counts(group) for name in _DETAILS if isinstance(group := value.get(name), dict)}
        told = convert({**_counts(value), **within}, Told)
    return metered(told)


def metered(told: Told) -> Usage:
    """What one reply cost. Unmetered unless both input and output are told; one of them alone is a lower bound."""
    of_input = told.prompt_tokens_details or told.input_tokens_details or _NONE
    of_output = told.completion_tokens_details or told.output_tokens_details or _NONE
    read = told.cache_read_input_tokens or of_input.cached_tokens or told.prompt_cache_hit_tokens or 0
    write = told.cache_creation_input_tokens or of_input.cache_write_tokens or 0
    thought = of_output.reasoning_tokens or 0
    came = told.prompt_tokens or told.input_tokens or 0
    went = told.completion_tokens or told.output_tokens or 0
    if told.prompt_tokens is None and told.cache_read_input_tokens is not None:
        came += read + write  # here the input is told without what the cache held
    if thought and told.total_tokens == came + went + thought:
        went += thought  # and here the output without the thinking
    exact = came > 0 and (told.completion_tokens is not None or told.output_tokens is not None)
    return Usage(
        requests=1,
        input_tokens=came,
        output_tokens=went,
        cache_read_tokens=read,
        cache_write_tokens=write,
        reasoning_tokens=thought,
        unmetered=0 if exact else 1,
    )


def _counts(group: Mapping[str, Json]) -> dict[str, int]:
    return {
        name: int(number)
        for name, number in group.items()
        if name in _COUNTS and type(number) in _NUMBERS and 0 <= number <= MOST
    }
