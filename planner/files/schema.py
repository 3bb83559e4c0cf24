"""The JSON Schema of plan files: for editors, and for programs that write plans."""

from typing import Any

from planner.plan import Draft

_NAME = {"type": ["string", "integer"]}
_EDGES = {"anyOf": [_NAME, {"type": "null"}, {"type": "array", "items": _NAME}]}
_SPELLINGS = ("depends_on", "dependencies", "needs")


def plan_schema() -> dict[str, Any]:
    """What `read_plan` takes for a plan, JSON Schema 2020-12. What fits it may still be refused by the checks."""
    schema = Draft.model_json_schema()
    for name, part in schema["$defs"].items():
        properties = part["properties"]
        if "depends_on" in properties:
            _as_step(part)
        if name == "Draft":
            part["required"] = ["goal", "steps"]
            # A map's own step may do without an id; all others are referred to by it.
            properties["steps"] |= {"minItems": 1, "items": {"allOf": [properties["steps"]["items"], {"required": ["id"]}]}}
        if name == "Estimate":
            for figure in properties.values():
                figure["anyOf"].append({"type": "number", "minimum": 0})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A plan of dagwright"} | schema


def _as_step(part: dict[str, Any]) -> None:
    """As steps are read: ids may be numbers, edges have three names, and whoever says no kind means an agent."""
    properties = part["properties"]
    properties["id"] = _NAME
    properties |= dict.fromkeys(_SPELLINGS, _EDGES)
    part["not"] = {"anyOf": [{"required": [one, other]} for one in _SPELLINGS for other in _SPELLINGS if one < other]}
    kind = [] if properties["kind"]["const"] == "agent" else ["kind"]
    part["required"] = [*kind, *(name for name in part.get("required", ()) if name != "id")]
