"""What a function may be given: its signature as a JSON Schema, and JSON read by it."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import ErrorDetails, to_json

from registry.calls import Call
from registry.errors import BadArguments, ConfigurationError
from registry.messages import Json
from registry.tools.arguments import SHOWN_ERRORS, field_name, shortened
from registry.tools.schema import plain_schema

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Signature:
    """`schema` says which arguments a model may send, `read` checks them, `call_parameter` is the one that it never sees."""

    def __init__(self, tool: str, function: Callable[..., object], descriptions: Mapping[str, str]) -> None:
        """`descriptions` explain parameters whose type does not. Raises `ConfigurationError` for what JSON can't say."""
        self._tool = tool
        parameters = _parameters(tool, function)
        self.call_parameter = next((each.name for each in parameters if each.annotation is Call), None)
        shown = [each for each in parameters if each.annotation is not Call]
        self.names = tuple(each.name for each in shown)
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(_collector(shown))
            written = adapter.json_schema(schema_generator=_QuietGenerator)
        except (PydanticUserError, PydanticUndefinedAnnotation) as error:
            raise ConfigurationError(f"the parameters of tool {tool!r} have no JSON Schema: {error.message}") from error
        for name, member in written["properties"].items():
            if name in descriptions:  # which says more than what is said of a model wherever it is used
                member.setdefault("description", descriptions[name])
        schema = plain_schema(written)
        self.schema = {"type": "object", "properties": schema.pop("properties"), **schema}
        self._validate = adapter.validator.validate_json

    def read(self, args: Mapping[str, Json]) -> dict[str, Any]:
        """The values to call the function with. Raises `BadArguments` that names each wrong field.

        They are checked as JSON and strictly: text becomes a date, a path or an enum where the type asks for one, but
        never a number or a truth value.
        """
        try:
            text = to_json(dict(args), inf_nan_mode="constants")
        except (TypeError, ValueError) as error:
            raise BadArguments(self._tool, f"they are not JSON: {error}") from error
        try:
            values: dict[str, Any] = self._validate(text, strict=True)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False)
            raise BadArguments(self._tool, "; ".join(map(self._sentence, found[:SHOWN_ERRORS]))) from error
        return values

    def _sentence(self, error: ErrorDetails) -> str:
        where = field_name(error["loc"])
        if error["type"].startswith("missing"):
            return f"{where} is required, but missing"
        if error["type"] == "unexpected_keyword_argument":
            return f"there is no parameter {where}; there are: {', '.join(self.names) or 'none'}"
        return f"{where}: {error['msg']}, got {shortened(to_json(error['input'], fallback=str).decode())}"


class _QuietGenerator(GenerateJsonSchema):
    """A default that JSON can't say is left out of the schema without a word: the function itself knows it."""

    ignored_warning_kinds: set[JsonSchemaWarningKind] = {  # noqa: RUF012 (the base class declares it so)
        "skipped-choice",
        "non-serializable-default",
    }


def _parameters(tool: str, function: Callable[..., object]) -> list[inspect.Parameter]:
    try:
        parameters = list(inspect.signature(function, eval_str=True).parameters.values())
    except (NameError, TypeError, ValueError) as error:
        raise ConfigurationError(f"the signature of tool {tool!r} can't be read: {error}") from error
    for each in parameters:
        if each.kind not in _NAMED:
            raise ConfigurationError(f"tool {tool!r} can only have parameters with a name of their own, but has '{each}'")
    return parameters


def _collector(parameters: list[inspect.Parameter]) -> Any:
    """A function of these parameters that returns what it was given.

    Pydantic validates calls, and calls what it validated; our function may have to be awaited or to run in a thread.
    """

    def collected(**values: Any) -> dict[str, Any]:
        return values

    named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    vars(collected)["__signature__"] = inspect.Signature(named)
    collected.__annotations__ = {each.name: each.annotation for each in named if each.annotation is not inspect.Parameter.empty}
    return collected
