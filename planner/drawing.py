"""Pictures of a plan for people and their tools: Mermaid, DOT, and a tree of text. The critical path is marked in each."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, get_args

from planner.graph import graph, order
from planner.plan import AnyStep, Draft, ToolStep

if TYPE_CHECKING:
    import networkx as nx

Form = Literal["tree", "mermaid", "dot"]
FORMS: tuple[Form, ...] = get_args(Form)

_MERMAID = {"agent": '["{}"]', "tool": '[["{}"]]', "approval": '{{{{"{}"}}}}', "map": '[/"{}"/]', "plan": '(["{}"])'}
_DOT = {"agent": "box", "tool": "component", "approval": "diamond", "map": "folder", "plan": "box3d"}
_DEEPEST = 40
"""Levels of a tree that are indented; a chain of thousands of steps is no wider than that."""


def draw(draft: Draft, form: Form, critical: Sequence[str]) -> str:
    """The steps and what waits for what. `critical` are the ids of the longest path, from its beginning; expects no circles."""
    drawn: Mapping[Form, Callable[[Draft, Sequence[str]], Iterator[str]]] = {"mermaid": _mermaid, "dot": _dot, "tree": _tree}
    return "\n".join(drawn[form](draft, critical)) + "\n"


def _mermaid(draft: Draft, critical: Sequence[str]) -> Iterator[str]:
    names = {step.id: f"s{number}" for number, step in enumerate(draft.steps)}
    marked = _pairs(critical)
    yield "flowchart TD"
    for step in draft.steps:
        label = _label(step).replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;")
        yield f"    {names[step.id]}{_MERMAID[step.kind].format(label)}"
    for before, after in graph(draft.steps).edges:
        yield f"    {names[before]} {'==>' if (before, after) in marked else '-->'} {names[after]}"
    if critical:
        yield "    classDef critical stroke-width:4px"
        yield f"    class {','.join(names[step] for step in critical)} critical"


def _dot(draft: Draft, critical: Sequence[str]) -> Iterator[str]:
    marked, path = _pairs(critical), set(critical)
    yield "digraph plan {"
    for step in draft.steps:
        bold = ", penwidth=3" if step.id in path else ""
        yield f"    {_quoted(step.id)} [label={_quoted(_label(step))}, shape={_DOT[step.kind]}{bold}]"
    for before, after in graph(draft.steps).edges:
        yield f"    {_quoted(before)} -> {_quoted(after)}{' [penwidth=3]' if (before, after) in marked else ''}"
    yield "}"


def _tree(draft: Draft, critical: Sequence[str]) -> Iterator[str]:
    """Each step once: below the one of its dependencies that is done last, the others named beside it."""
    edges, path, steps = graph(draft.steps), set(critical), {step.id: step for step in draft.steps}
    above = _parents(edges, path)
    below: dict[str | None, list[str]] = {}
    for step in steps:
        below.setdefault(above[step], []).append(step)
    yield " ".join(draft.goal.split())
    ahead = _branches(below.get(None, ()), "")
    while ahead:
        step, before, last = ahead.pop()
        others = [need for need in edges.predecessors(step) if need != above[step]]
        also = f" (and after {', '.join(others)})" if others else ""
        yield f"{before}{'└─' if last else '├─'} {'* ' if step in path else ''}{_told(steps[step])}{also}"
        deeper = before + ("   " if last else "│  ")
        ahead += _branches(below.get(step, ()), deeper if len(deeper) <= 3 * _DEEPEST else before)
    if critical:
        yield "* is on the critical path"


def _parents(edges: "nx.DiGraph[str]", path: Iterable[str]) -> dict[str, str | None]:
    """Under which of its dependencies a step is shown: the one on the critical path, else the one furthest from the start."""
    depth: dict[str, int] = {}
    above: dict[str, str | None] = {}
    for step in order(edges):
        needs = list(edges.predecessors(step))
        depth[step] = 1 + max((depth[need] for need in needs), default=0)
        above[step] = max(needs, key=lambda need: (step in path and need in path, depth[need]), default=None)
    return above


def _branches(steps: Sequence[str], before: str) -> list[tuple[str, str, bool]]:
    """What is to be drawn below a step, the first on top of the pile."""
    return [(step, before, number == 0) for number, step in enumerate(reversed(steps))]


def _label(step: AnyStep) -> str:
    return f"{step.id}: {step.tool}" if isinstance(step, ToolStep) else step.id


def _told(step: AnyStep) -> str:
    """The label, with the kind in a word where no shape shows it."""
    return _label(step) if step.kind in ("agent", "tool") else f"{step.id}: {step.kind}"


def _pairs(path: Sequence[str]) -> set[tuple[str, str]]:
    return set(pairwise(path))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
