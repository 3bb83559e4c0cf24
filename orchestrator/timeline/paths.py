"""What waited for what in a run, parts of steps included, and which chain of steps it took its time from."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from graphlib import TopologicalSorter

from msgspec import Struct

from planner import AnyStep, MapStep, Plan, PlanStep
from planner.graph import graph


class Node(Struct, frozen=True):
    """A step, what it waited for, and how deep it is inside others. One that consists of others waits for these."""

    needs: tuple[str, ...] = ()
    depth: int = 0
    inside: str = ""


class Paths(Struct, frozen=True, kw_only=True):
    """`longest` is the chain of steps that took longest, from its beginning, and `seconds` what it took. `slack` is how much
    longer each step could have taken without a longer one."""

    longest: tuple[str, ...]
    seconds: float
    slack: Mapping[str, float]


def nodes(plans: Iterable[Plan], seen: Collection[str]) -> dict[str, Node]:
    """The steps of a run's plans, in plan order, each with its parts behind it as far as they were `seen`.

    A step that a later plan has too is as that one has it; what is known of in no plan waited for nothing.
    """
    found: dict[str, Node] = {}
    for plan in plans:
        edges = graph(plan.steps)
        for step in plan.steps:
            _lay(found, step, Node(tuple(edges.predecessors(step.id))), seen)
    return found | {name: Node() for name in seen if name not in found}


def paths(steps: Mapping[str, Node], seconds: Mapping[str, float]) -> Paths:
    """The longest chain, by the seconds of each step; one without any took no time."""
    order = tuple(TopologicalSorter({name: node.needs for name, node in steps.items()}).static_order())
    until: dict[str, float] = {}
    for name in order:
        until[name] = seconds.get(name, 0.0) + max((until[need] for need in _needs(steps, name)), default=0.0)
    after = dict.fromkeys(order, 0.0)
    for name in reversed(order):
        for need in _needs(steps, name):
            after[need] = max(after[need], after[name] + seconds.get(name, 0.0))
    whole = max(until.values(), default=0.0)
    slack = {name: max(0.0, whole - until[name] - after[name]) for name in order}
    return Paths(longest=tuple(_longest(steps, until))[::-1], seconds=whole, slack=slack)


def _longest(steps: Mapping[str, Node], until: Mapping[str, float]) -> Iterator[str]:
    """The steps of the longest chain, from its end."""
    at = max(until, key=until.__getitem__, default=None)
    while at is not None:
        yield at
        at = max(_needs(steps, at), key=until.__getitem__, default=None)


def _needs(steps: Mapping[str, Node], name: str) -> tuple[str, ...]:
    return steps[name].needs if name in steps else ()


def _lay(found: dict[str, Node], step: AnyStep, node: Node, seen: Collection[str], name: str = "") -> None:
    name = name or step.id
    found[name] = node
    parts = dict(_parts(step, name, node, seen))
    for part, (inner, own) in parts.items():
        _lay(found, inner, own, seen, part)
    if parts:
        found[name] = Node(tuple(parts), node.depth, node.inside)


def _parts(step: AnyStep, name: str, node: Node, seen: Collection[str]) -> Iterator[tuple[str, tuple[AnyStep, Node]]]:
    match step:
        case MapStep(step=inner):
            for item in (f"{name}[{place}]" for place in range(len(seen))):
                if item in seen:
                    yield item, (inner, Node(node.needs, node.depth + 1, name))
        case PlanStep(plan=plan) if name in seen:
            edges = graph(plan.steps)
            for inner in plan.steps:
                needs = tuple(f"{name}/{need}" for need in edges.predecessors(inner.id))
                yield f"{name}/{inner.id}", (inner, Node(needs or node.needs, node.depth + 1, name))
        case _:
            return
