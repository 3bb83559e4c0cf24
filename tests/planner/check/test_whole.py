"""The whole check."""

import json

import anyio
import pytest

from planner.check import Known, check
from planner.files import plain_plan, write_plan, written_plan
from planner.graph import graph
from planner.plan import Plan
from tests.planner.drafts import draft, step


def test_everything_is_named():
    """A circle, a duplicate id, an unknown dependency and an unknown tool are all found in one pass."""
    broken = draft(step("a", "b"), step("b", "a"), step("c"), step("c"), step("d", "zz", tool_hint="nix"))

    assert ["P003", "P005", "P006", "P008"] == [found.code for found in check(broken, Known())]


def test_nothing_wrong():
    """A plan that asks for nothing the run lacks passes."""
    assert () == check(draft(step("a", tool_hint="t"), step("b", "a")), Known(tools=frozenset({"t"})))


def test_warnings_beside_errors():
    """What is odd is told beside what the run lacks, but not of a plan whose structure is broken."""
    idle = step("b", tools=())
    output = "${steps.a.output}"

    assert ["P009", "P020"] == [found.code for found in check(draft(step("a", model_hint="x"), idle, output=output), Known())]
    assert ["P004"] == [found.code for found in check(draft(step("a", "a"), idle, output=output), Known())]


@pytest.mark.anyio
@pytest.mark.real_clock
@pytest.mark.parametrize("form", ["yaml", "json"])
async def test_ten_thousand_steps(form):
    """A large plan is read, checked in full and made a graph in a moment."""
    large = draft(*(step(f"s{i}", *([f"s{i - 1}"] if i % 4 else []), tools=()) for i in range(10_000)))
    text = write_plan(large) if form == "yaml" else json.dumps(plain_plan(large))
    began = anyio.current_time()

    written = written_plan(text, name=f"plan.{form}")
    found = check(written.draft, Known())
    edges = graph(Plan.of(written.draft).steps)

    assert anyio.current_time() - began < 10  # it takes half a second; quadratic work would take minutes
    assert ((), 7_500) == (found, edges.number_of_edges())
