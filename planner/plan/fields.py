"""What the fields of a plan may hold, and how they are read."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationInfo
from pydantic_core import PydanticCustomError, to_jsonable_python

from registry.messages import Json
from registry.storable import unstorable


class Frozen(BaseModel):
    """A part of a plan: it never changes, and has no fields but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)


def _as_text(value: object) -> object:
    """Ids are opaque text: a YAML file may write `id: 1`. True and False are not ids."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _as_list(value: object) -> object:
    """`depends_on: a` means `depends_on: [a]`, and nothing means none."""
    if value is None:
        return ()
    return (value,) if isinstance(value, str | int) else value


def _as_schema(value: object) -> object:
    """A pydantic model stands for its JSON Schema."""
    return value.model_json_schema() if isinstance(value, type) and issubclass(value, BaseModel) else value


def _stored(value: Json, field: ValidationInfo) -> Json:
    """A plan is written down, so it holds JSON and nothing else: what is read back is what was written."""
    found = unstorable(value, str(field.field_name))
    if found is not None:
        raise PydanticCustomError("unstorable", "{found}", {"found": found})
    return to_jsonable_python(value)  # which knows no tuples, and no text or numbers of kinds of their own


Id = Annotated[str, BeforeValidator(_as_text)]
Ids = Annotated[Sequence[Id], BeforeValidator(_as_list), AfterValidator(tuple)]
Names = Annotated[Sequence[str], AfterValidator(tuple)]
Stored = Annotated[Json, AfterValidator(_stored)]
Args = Annotated[Mapping[str, Json], AfterValidator(_stored)]
OutputSchema = Annotated[Mapping[str, Json], BeforeValidator(_as_schema), AfterValidator(_stored)]
"""A JSON Schema; in Python a pydantic model does as well."""
