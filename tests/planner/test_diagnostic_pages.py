"""The pages in docs/diagnostics: one for each code, and each right about the plans that it shows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from planner.check import Known, check
from planner.diagnostics import CODES, Diagnostic
from planner.errors import PlanError
from planner.files import plain_plan, read_plan
from planner.repair import repair
from registry.builtin.calculator import calculator
from registry.messages import Json
from registry.models.registry import ROLES
from registry.tools.function import tool
from registry.tools.tool import Tool

PAGES = Path(__file__).parents[2] / "docs" / "diagnostics"
PLANS = re.compile(r"```yaml\n(.*?)```", re.DOTALL)


@tool(effect="keyed", destinations=("path",), requires_approval=True)
def save(path: str, text: str) -> None:
    """Keep a text in a file."""


@tool
def post(text: str) -> None:
    """Post a letter."""


@dataclass(frozen=True)
class Small:
    """A model that can do little."""

    abilities: Mapping[str, bool]
    context_window: int | None = 2_000


TOOLS: tuple[Tool, ...] = (calculator, save, post)
MODELS = {"small": Small({})}
GIVEN: Mapping[str, Mapping[str, Json]] = {"P015": {"city": "Graz"}}


def found_in(text: str, code: str) -> tuple[Diagnostic, ...]:
    """What is found in the plan of a page: by the reader, the checks, or, of a model's plan, the repair."""
    known = replace(Known.of(TOOLS, MODELS, GIVEN.get(code)), hints=frozenset({*ROLES, *MODELS}))
    try:
        draft = read_plan(text, name="plan.yaml")
    except PlanError as wrong:
        return wrong.diagnostics
    if "Severity: repair" in page(code):
        return repair(plain_plan(draft), known, most=2)[1]
    return check(draft, known)


def page(code: str) -> str:
    return (PAGES / f"{code}.md").read_text()


def test_every_code_has_a_page() -> None:
    """No code is without one, and no page without a code."""
    assert set(CODES) == {path.stem for path in PAGES.glob("P*.md")}


@pytest.mark.parametrize("code", CODES)
def test_a_page_is_right(code: str) -> None:
    """The first plan raises the code and nothing else, with the severity that is said; the second, its neighbour, nothing."""
    text = page(code)
    wrong, right = PLANS.findall(text)

    found = found_in(wrong, code)

    assert text.startswith(f"# {code}: {CODES[code]}\n")
    assert {code} == {one.code for one in found}
    assert {f"Severity: {one.severity}" for one in found} <= set(text.splitlines())
    assert () == found_in(right, code)


def test_the_index_lists_every_code() -> None:
    """The table of all codes links to the pages, with their severities and titles."""
    rows = [line for line in page("README").splitlines() if line.startswith("| [")]

    severities = {code: re.findall(r"Severity: (\w+)", page(code))[0] for code in CODES}
    assert rows == [f"| [{code}]({code}.md) | {severities[code]} | {title} |" for code, title in CODES.items()]
