"""What the description of the API shows by way of example."""

from typing import Any

from pydantic import ConfigDict, JsonValue

RUN = "default.4f1c2a9be07d"

WAITING = "6f2d1c0a9b8e7f60"

PLAN: dict[str, JsonValue] = {
    "goal": "Compare two harbours",
    "steps": [
        {"id": "north", "task": "Describe the harbour of Narvik"},
        {"id": "south", "task": "Describe the harbour of Genoa"},
        {"id": "compare", "task": "Compare ${steps.north.output} with ${steps.south.output}"},
    ],
}

USAGE: dict[str, JsonValue] = {
    "requests": 5,
    "input_tokens": 3200,
    "output_tokens": 410,
    "cache_read_tokens": 0,
    "cache_write_tokens": 0,
    "reasoning_tokens": 0,
    "unmetered": 0,
    "cost": "0.0021",
    "priced": 5,
}


def example(**values: Any) -> ConfigDict:
    """For the `model_config` of a shape."""
    return ConfigDict(json_schema_extra={"examples": [values]})
