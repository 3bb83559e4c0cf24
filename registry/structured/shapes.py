"""What a typed answer must look like: told to the model as a JSON Schema, checked on what comes back."""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from msgspec import Struct
from pydantic import BaseModel, TypeAdapter, ValidationError

from registry.messages import Json, Schema
from registry.structured.coercion import coerced, plain_schema

T = TypeVar("T")

AnySchema = type[BaseModel] | TypeAdapter[T] | Schema
"""The ways to say what is wanted."""

_BOX = "value"
_MOST_FAULTS = 5


class Unfit(ValueError):
    """A value that does not fit. The sentence names the fields, for a model to read."""


class Fit(Struct, frozen=True, eq=False):
    """A value that fits: as plain JSON, as its Python type, and whether it had to be converted."""

    raw: Json
    value: Any
    converted: bool = False


class Shape(Struct, frozen=True, eq=False):
    """A schema that can check.

    `check` returns the typed value or raises `Unfit`. `boxed` is an object schema in any case: where `schema` wants
    something else, such as a list, it asks for an object with that in its one field.
    """

    schema: Schema
    boxed: Schema
    check: Callable[[Json], Any]

    def fit(self, value: Json) -> Fit:
        """The value, checked; converted without loss where only that makes it fit. Raises `Unfit`."""
        if self.boxed is not self.schema and isinstance(value, dict) and list(value) == [_BOX]:
            value = value[_BOX]
        try:
            return Fit(value, self.check(value))
        except Unfit as unfit:
            return self._bent(value, unfit)

    def _bent(self, value: Json, unfit: Unfit) -> Fit:
        bent = coerced(value, self.schema)
        if bent == value:
            raise unfit
        try:
            return Fit(bent, self.check(bent), converted=True)
        except Unfit:
            raise unfit from None


def shape_of(schema: AnySchema[Any]) -> Shape:
    """The shape that a pydantic model, a TypeAdapter or a JSON Schema describes."""
    return _json_schema_shape(schema) if isinstance(schema, Mapping) else _pydantic_shape(schema)


@lru_cache(maxsize=256)
def _pydantic_shape(wanted: type[BaseModel] | TypeAdapter[Any]) -> Shape:
    adapter: TypeAdapter[Any] = wanted if isinstance(wanted, TypeAdapter) else TypeAdapter(wanted)

    def check(value: Json) -> Any:
        try:
            # From JSON, not from Python: strict models take dates and tuples only so.
            return adapter.validate_json(json.dumps(value))
        except ValidationError as error:
            faults = [(".".join(map(str, fault["loc"])), fault["msg"]) for fault in error.errors(include_url=False)]
            raise Unfit(_sentence(faults)) from error

    schema = adapter.json_schema()
    return Shape(schema, _boxed(schema), check)


def _json_schema_shape(schema: Schema) -> Shape:
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry

    # An empty registry: a schema that refers to an address is never fetched.
    validator = validator_for(schema, default=Draft202012Validator)(schema, registry=Registry())

    def check(value: Json) -> Json:
        faults = [(error.json_path.removeprefix("$").lstrip("."), error.message) for error in validator.iter_errors(value)]
        if faults:
            raise Unfit(_sentence(faults))
        return value

    return Shape(schema, _boxed(schema), check)


def _sentence(faults: list[tuple[str, str]]) -> str:
    told = "; ".join(f"{place}: {message}" if place else message for place, message in faults[:_MOST_FAULTS])
    more = f"; and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""
    return told + more


def _boxed(schema: Schema) -> Schema:
    plain = plain_schema(schema, schema)
    if plain.get("type") == "object" or "properties" in plain:
        return schema if "type" in schema else {"$defs": schema.get("$defs", {}), **plain}
    inner = {key: part for key, part in schema.items() if key != "$defs"}
    box = {"type": "object", "properties": {_BOX: inner}, "required": [_BOX], "additionalProperties": False}
    return box | ({"$defs": schema["$defs"]} if "$defs" in schema else {})
