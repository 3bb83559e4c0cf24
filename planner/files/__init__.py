"""Plans as files: JSON or YAML in, a draft or every reason why not out."""

from collections.abc import Mapping
from pathlib import PurePath

from pydantic import ValidationError

from planner.diagnostics import error
from planner.errors import PlanError
from planner.files.fields import field_errors
from planner.files.text import MAX_BYTES, MAX_DEPTH, UnreadableText, json_value, plain, too_deep, yaml_value
from planner.plan import AnyStep, Draft
from registry.messages import Json

__all__ = ["draft_from", "plain_plan", "read_plan", "write_plan"]


def read_plan(text: str, *, name: str) -> Draft:
    """The draft that a file holds. `name` is the file's: `.json`, `.yaml` and `.yml` say what it is, else the text shows it.

    Raises `PlanError`.
    """
    try:
        return draft_from(_value(text.removeprefix("\ufeff"), PurePath(name).suffix.lower()))
    except UnreadableText as unreadable:
        raise PlanError((error("P014", "", f"{name}: {unreadable}"),)) from unreadable


def draft_from(value: Json) -> Draft:
    """The draft that a JSON value describes. Raises `PlanError` that names every field at fault."""
    if not isinstance(value, Mapping):
        raise PlanError((error("P012", "", "a plan is an object", fix="with the fields goal and steps"),))
    if too_deep(value):
        raise PlanError((error("P014", "", f"nested deeper than {MAX_DEPTH} levels"),))
    try:
        return Draft.model_validate(value)
    except ValidationError as invalid:
        raise PlanError(field_errors(invalid)) from invalid


def plain_plan(plan: Draft) -> dict[str, Json]:
    """The plan as a short JSON value: what has its default is left out. `draft_from` makes the same draft of it."""
    written: dict[str, Json] = {"goal": plan.goal}
    if plan.inputs:
        written["inputs"] = {name: asked.model_dump(mode="json", exclude_unset=True) for name, asked in plan.inputs.items()}
    written["steps"] = [_plain_step(step) for step in plan.steps]
    return written if plan.output is None else written | {"output": plan.output}


def write_plan(plan: Draft) -> str:
    """The plan as YAML that `read_plan` reads back to the same draft."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, _: object) -> bool:
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=_style(value))

    Dumper.add_representer(str, text)
    return yaml.dump(plain_plan(plan), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)


def _plain_step(step: AnyStep) -> dict[str, Json]:
    kind = {} if step.kind == "agent" else {"kind": step.kind}
    return {"id": step.id} | kind | step.model_dump(mode="json", exclude_defaults=True)


def _style(text: str) -> str | None:
    """How YAML is to write a text so that it is read back as this text; None leaves it to the writer."""
    if not text.replace("\n", "").isprintable() or not isinstance(_plain(text), str):
        return '"'
    return "|" if "\n" in text else None


def _plain(text: str) -> Json:
    try:
        return plain(text)
    except UnreadableText:
        return None


def _value(text: str, suffix: str) -> Json:
    size = len(text.encode(errors="surrogatepass"))
    if size > MAX_BYTES:
        raise UnreadableText(f"{size:,} bytes are too many; a plan may have {MAX_BYTES:,}")
    if not text.strip():
        raise UnreadableText("there is nothing in it")
    looks_like_json = text.lstrip().startswith(("{", "["))
    return json_value(text) if suffix == ".json" or (suffix not in (".yaml", ".yml") and looks_like_json) else yaml_value(text)
