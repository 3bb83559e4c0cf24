"""The graph of a plan: an edge leads from a dependency to the step that waits for it. Everything here is linear, or nearly.

networkx is imported at the first use: it is a third of what importing dagwright would cost.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from planner.mentions import mentions
from planner.shapes import StepShape

if TYPE_CHECKING:
    import networkx as nx

Needs = Mapping[str, Sequence[str]]
"""By step, in plan order, those that it waits for. There are no circles."""

EVEN: Mapping[str, float] = MappingProxyType({})
"""Weights by which every step counts one."""


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
    found.add_edges_from(
        (needed, step.id) for step in by_id.values() for needed in mentions(step).needs if needed in by_id and needed != step.id
    )
    return found


def order(steps: "nx.DiGraph[str]") -> tuple[str, ...]:
    """An order in which every step comes after its dependencies, otherwise as in the plan."""
    import networkx as nx

    position = {step: index for index, step in enumerate(steps)}
    return tuple(nx.lexicographical_topological_sort(steps, key=position.__getitem__))


def stand_in_turn(steps: Iterable[tuple[str, Iterable[str]]]) -> bool:
    """Whether each step stands behind all that it waits for: such a plan has no circles."""
    earlier = set[str]()
    for step, needed in steps:
        if not earlier.issuperset(needed):
            return False
        earlier.add(step)
    return True


def in_turn(needs: Needs) -> tuple[str, ...]:
    """`order` of the steps. A plan is mostly written so, and no graph has to be built to see that."""
    return tuple(needs) if stand_in_turn(needs.items()) else order(_graph(needs))


def ranks(needs: Needs, weights: Mapping[str, float] = EVEN) -> dict[str, float]:
    """How long the longest way from each step to an end is, itself included: the larger, the more waits for it.

    A step that has no weight counts one.
    """
    found = dict.fromkeys(needs, 0.0)
    for step in reversed(in_turn(needs)):
        longest = found[step] = found[step] + weights.get(step, 1.0)
        for needed in needs[step]:
            found[needed] = max(found[needed], longest)
    return found


def leading_to(needs: Needs, steps: Iterable[str]) -> set[str]:
    """These steps and all that they wait for."""
    found: set[str] = set()
    ahead = list(steps)
    while ahead:
        step = ahead.pop()
        if step not in found:
            found.add(step)
            ahead.extend(needs[step])
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


def _graph(needs: Needs) -> "nx.DiGraph[str]":
    import networkx as nx

    found: nx.DiGraph[str] = nx.DiGraph()
    found.add_nodes_from(needs)
    found.add_edges_from((needed, step) for step, all_needed in needs.items() for needed in all_needed)
    return found


def _circle(knot: "nx.DiGraph[str]", first: str) -> tuple[str, ...]:
    import networkx as nx

    dependency = next(iter(knot.predecessors(first)))
    return first, *reversed(nx.shortest_path(knot, first, dependency))
