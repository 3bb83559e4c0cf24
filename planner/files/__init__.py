"""Plans as files: JSON or YAML in, a draft or every reason why not out."""

from collections.abc import Iterable, Mapping
from pathlib import PurePath

from msgspec import Struct
from pydantic import ValidationError

from planner.diagnostics import Diagnostic, error
from planner.errors import PlanError
from planner.files.fields import field_errors
from planner.files.places import MAX_BYTES, TOO_DEEP, Position, UnreadableText, located
from planner.files.text import Written, json_value, plain, too_deep, yaml_value
from planner.plan import Draft, plain_draft
from registry.messages import Json

__all__ = ["WrittenPlan", "draft_from", "plain_plan", "read_plan", "write_plan", "written_plan"]


class WrittenPlan(Struct, frozen=True, kw_only=True):
    """A draft, and where its parts stand in the text that it came from, by JSON pointer."""

    draft: Draft
    places: Mapping[str, Position]

    def located(self, findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """The findings with the line and column of their places."""
        return located(findings, self.places)


def read_plan(text: str, *, name: str) -> Draft:
    """The draft that a file holds. `name` is the file's: `.json`, `.yaml` and `.yml` say what it is, else the text shows it.

    Raises `PlanError`, whose findings have line and column.
    """
    return written_plan(text, name=name).draft


def written_plan(text: str, *, name: str) -> WrittenPlan:
    """`read_plan`, and where everything stands."""
    try:
        written = _written(text.removeprefix("\ufeff"), PurePath(name).suffix.lower())
    except UnreadableText as unreadable:
        found = error("P014", "", f"{name}: {unreadable.why}")
        raise PlanError(located([found], {"": unreadable.at} if unreadable.at else {})) from unreadable
    try:
        return WrittenPlan(draft=draft_from(written.value), places=written.places)
    except PlanError as wrong:
        raise PlanError(located(wrong.diagnostics, written.places)) from wrong


def draft_from(value: Json) -> Draft:
    """The draft that a JSON value describes. Raises `PlanError` that names every field at fault."""
    if not isinstance(value, Mapping):
        raise PlanError((error("P012", "", "a plan is an object", fix="with the fields goal and steps"),))
    if too_deep(value):
        raise PlanError((error("P014", "", TOO_DEEP),))
    try:
        return Draft.model_validate(value)
    except ValidationError as invalid:
        raise PlanError(field_errors(invalid)) from invalid


def plain_plan(plan: Draft) -> dict[str, Json]:
    """The plan as a short JSON value: what has its default is left out. `draft_from` makes the same draft of it."""
    return plain_draft(plan)


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


def _written(text: str, suffix: str) -> Written:
    size = len(text.encode(errors="surrogatepass"))
    if size > MAX_BYTES:
        raise UnreadableText(f"{size:,} bytes are too many; a plan may have {MAX_BYTES:,}")
    if not text.strip():
        raise UnreadableText("there is nothing in it")
    looks_like_json = text.lstrip().startswith(("{", "["))
    return json_value(text) if suffix == ".json" or (suffix not in (".yaml", ".yml") and looks_like_json) else yaml_value(text)
