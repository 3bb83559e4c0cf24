"""Short ways to write plans, and random drafts, for the tests of this package."""

from hypothesis import strategies as st

from planner.plan import AnyStep, Draft, Plan, Step


def step(step_id: str, *needs: str, task: str | None = None, **fields) -> Step:
    """An agent's step that does something of its own."""
    return Step(id=step_id, task=f"do {step_id}" if task is None else task, depends_on=needs, **fields)


def draft(*steps: AnyStep, goal: str = "the goal", **fields) -> Draft:
    return Draft(goal=goal, steps=steps, **fields)


def plan(*steps: AnyStep, **fields) -> Plan:
    return Plan.of(draft(*steps, **fields))


_ids = st.sampled_from(["a", "b", "c", "d", "a b", "", "x" * 70, "1", "step-1", "${"])
_names = st.none() | st.sampled_from(["search", "serch", "fast", ""])
_texts = st.sampled_from(
    [
        "do it",
        "Do  it",
        "",
        " ",
        "see ${steps.a.output}",
        "${steps.b.data.x[0]} and ${steps.zz.output}",
        "cost $${x} ${HOME} ${inputs.city} ${",
        "x" * 30,
    ]
)
_needs = st.lists(_ids, max_size=4)

_agents = st.builds(Step, id=_ids, task=_texts, depends_on=_needs, tool_hint=_names, model_hint=_names)
drafts = st.builds(
    Draft,
    goal=st.sampled_from(["goal", " "]),
    steps=st.lists(_agents, max_size=8).map(tuple),
    output=st.none() | _texts,
)
"""Drafts of the right shape, most of them wrong in several ways."""

_junk = st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5) | st.lists(st.integers(), max_size=2)
_entries = st.fixed_dictionaries(
    {},
    optional={
        "id": _ids | st.integers(0, 3) | _junk,
        "task": _texts | _junk,
        "depends_on": _needs | _ids | _junk,
        "needs": _needs,
        "tool_hint": _names | _junk,
        "tools": st.lists(st.sampled_from(["search", "nope"]), max_size=2) | _junk,
        "model_hint": _names | _junk,
        "kind": st.sampled_from(["agent", "tool", "approval", "map"]) | _junk,
        "tool": st.sampled_from(["search", "nope"]) | _junk,
        "args": st.dictionaries(st.text(max_size=2), _texts | _junk, max_size=2) | _junk,
        "question": _texts | _junk,
        "timeout": st.floats(-1, 5) | _junk,
        "foo": _junk,
    },
)
answers = st.fixed_dictionaries({"steps": st.lists(_entries | _junk, max_size=10)}, optional={"goal": _texts | _junk, "x": _junk})
"""What a bad model might answer when it is asked for a plan."""
