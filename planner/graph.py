"""The graph of a plan: an edge leads from a dependency to the step that waits for it. Everything here is linear, or nearly.

networkx is imported at the first use: it is a third of what importing dagwright would cost.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from planner.references import implied
from planner.shapes import StepShape

if TYPE_CHECKING:
    import networkx as nx


def graph(steps: Iterable[StepShape]) -> "nx.DiGraph[str]":
    """The steps in plan order, and their edges, implied ones too.

    It takes drafts as well: of steps that share an id the first counts, edges to nowhere and to oneself are left out.
    """
    import networkx as nx

    by_id: dict[str, StepShape] = {}
    for step in steps:
        by_id.setdefault(step.id, step)
    found: nx.DiGraph[str] = nx.DiGraph()
    found.add_nodes_from(by_id)
    for step in by_id.values():
        needed = dict.fromkeys((*step.depends_on, *implied(step)))
        found.add_edges_from((dependency, step.id) for dependency in needed if dependency in by_id and dependency != step.id)
    return found


def order(steps: "nx.DiGraph[str]") -> tuple[str, ...]:
    """An order in which every step comes after its dependencies, otherwise as in the plan."""
    import networkx as nx

    position = {step: index for index, step in enumerate(steps)}
    return tuple(nx.lexicographical_topological_sort(steps, key=position.__getitem__))


def ranks(steps: "nx.DiGraph[str]") -> dict[str, float]:
    """How many steps the longest way from each step to an end has, itself included: the larger, the more waits for it."""
    import networkx as nx

    found: dict[str, float] = {}
    for step in reversed(list(nx.topological_sort(steps))):
        found[step] = 1.0 + max((found[dependent] for dependent in steps.successors(step)), default=0.0)
    return found


def circles(steps: "nx.DiGraph[str]") -> tuple[tuple[str, ...], ...]:
    """One circle out of each knot of steps that wait for each other, each step followed by one that it waits for.

    A circle begins and ends with the step that comes first in the plan.
    """
    position = {step: index for index, step in enumerate(steps)}
    knots = [sorted(knot, key=position.__getitem__) for knot in knotted(steps)]
    return tuple(_circle(steps.subgraph(knot).copy(), knot[0]) for knot in sorted(knots, key=lambda knot: position[knot[0]]))


def knotted(steps: "nx.DiGraph[str]") -> tuple[frozenset[str], ...]:
    """The largest sets of steps that all wait for each other."""
    import networkx as nx

    return tuple(frozenset(knot) for knot in nx.strongly_connected_components(steps) if len(knot) > 1)


def _circle(knot: "nx.DiGraph[str]", first: str) -> tuple[str, ...]:
    import networkx as nx

    dependency = next(iter(knot.predecessors(first)))
    return first, *reversed(nx.shortest_path(knot, first, dependency))
