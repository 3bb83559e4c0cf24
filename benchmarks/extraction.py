"""How often a reader gets the right JSON value out of what models write: right, refused, or wrong without a word.

    python benchmarks/extraction.py

The texts are those of tests/corpus/data/kind_a.jsonl, from public bug reports. Where a case has a schema, every reader's value
is held against it, as any caller would do; `extract_json` alone also chooses and converts by it. A refusal is right where no
value is. Keep in mind that `extract_json` was written with these texts at hand, and the other two were not.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import json_repair
import pydantic_core
from jsonschema import Draft202012Validator

sys.path.insert(0, str(Path(__file__).parents[1]))

from registry.structured import Unreadable, extract_json

CORPUS = Path(__file__).parents[1] / "tests" / "corpus" / "data" / "kind_a.jsonl"
OUTCOMES = ("right", "refused", "silently wrong")
NOTHING = object()
"""What a reader returns that refuses."""


def ours(text: str, schema: dict | None) -> object:
    found = extract_json(text, schema)
    return NOTHING if isinstance(found, Unreadable) else found.value


def repaired(text: str, schema: dict | None) -> object:
    value = json_repair.loads(text)
    return NOTHING if value == "" else fitting(value, schema)  # its way to say that there is nothing


def partial(text: str, schema: dict | None) -> object:
    try:
        return fitting(pydantic_core.from_json(text, allow_partial=True), schema)
    except ValueError:
        return NOTHING


def fitting(value: object, schema: dict | None) -> object:
    return value if schema is None or Draft202012Validator(schema).is_valid(value) else NOTHING


def outcome(read: Callable[[str, dict | None], object], check: dict) -> str:
    got, wanted = read(check["raw"], check.get("schema")), check["result"].get("value", NOTHING)
    if got is NOTHING:
        return "right" if wanted is NOTHING else "refused"
    return "right" if wanted is not NOTHING and json.dumps(got) == json.dumps(wanted) else "silently wrong"


def main() -> None:
    cases = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    print(f"{len(cases)} texts".ljust(24), *(f"{each:>15}" for each in OUTCOMES))
    lists = []
    for name, read in {"extract_json": ours, "json_repair": repaired, "pydantic_core.from_json": partial}.items():
        ids: dict[str, list[str]] = {each: [] for each in OUTCOMES}
        for case in cases:
            ids[outcome(read, case["check"])].append(case["id"])
        print(name.ljust(24), *(f"{len(ids[each]):15}" for each in OUTCOMES))
        lists += [f"{name}, {each}: {' '.join(ids[each]) or 'none'}" for each in OUTCOMES[1:]]
    print("", *lists, sep="\n")


if __name__ == "__main__":
    main()
