"""Short ways to write plans, and random drafts, for the tests of this package."""

from hypothesis import strategies as st

from planner.plan import AnyStep, ApprovalStep, Draft, MapStep, Plan, PlanStep, Step, ToolStep


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
_tools = st.sampled_from(["search", "nope", "send"])
_hints = st.sampled_from(["fast", "nope", "weak"])
_paths = st.sampled_from(
    [
        *(
            "${item}",
            "${item.name}",
            "${index}",
            "${output}",
            "${data.x}",
            "${steps.a.status}",
            "${inputs.city}",
            "${inputs.list}",
        ),
        *("${steps.a.output}", "${steps.b.data.x}", "${steps.c.data[0].y}", "${steps.d.data}", "${steps.zz.output}"),
    ]
)
_conditions = st.sampled_from(
    ["true", "${steps.a.output} == 'x'", "${steps.b.data.x} > 3", "${steps.a.status} == 'failed'", "${x", "1 +", "${item} in [1]"]
)
_schemas = st.sampled_from(
    [{}, {"type": "object", "properties": {"x": {"type": "integer"}}}, {"type": "array"}, {"type": "nix"}, {"$ref": "#/$defs/a"}]
)
_checks = st.one_of(
    st.fixed_dictionaries({"holds": _conditions}),
    st.fixed_dictionaries({"fits": _schemas}),
    st.fixed_dictionaries({"judge": st.sampled_from(["good?", " "])}, optional={"model": _hints}),
    st.fixed_dictionaries({"tool": _tools}, optional={"args": st.dictionaries(st.text(max_size=2), _paths, max_size=2)}),
)
_figures = st.integers(-1, 9) | st.fixed_dictionaries({"low": st.just(1), "likely": st.integers(0, 3), "high": st.just(2)})
_clean = {
    "id": st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "h"]),
    "task": _texts | _paths | st.just("do it"),
    "depends_on": st.lists(st.sampled_from(["a", "b", "c"]), max_size=2),
    "when": _conditions,
    "retries": st.integers(0, 2),
    "optional": st.booleans(),
    "estimate": st.dictionaries(st.sampled_from(["calls", "tokens", "seconds"]), st.integers(0, 9), max_size=2),
    "output_schema": _schemas,
    "verify": _checks,
    "escalate": st.lists(_hints, max_size=2),
    "tools": st.lists(_tools, max_size=2),
    "model_hint": _hints,
    "tool": _tools,
    "args": st.dictionaries(st.sampled_from(["q", "to", "x"]), _texts | _paths | st.integers(), max_size=2),
    "question": st.just("May I?") | _paths,
    "over": _paths | st.lists(st.integers(), max_size=3),
    "width": st.integers(1, 3),
}
"""Fields of the right types, and for the most part right."""

_wild = {name: values | _junk for name, values in _clean.items()} | {
    "id": _ids | st.integers(0, 3) | _junk,
    "depends_on": _needs | _ids | _junk,
    "needs": _needs,
    "timeout": st.floats(-1, 5) | _junk,
    "on_failure": st.sampled_from(["stop", "replan", "nix"]),
    "estimate": st.dictionaries(st.sampled_from(["calls", "tokens", "nix"]), _figures, max_size=2),
    "tool_hint": _names | _junk,
    "kind": st.sampled_from(["agent", "tool", "approval", "map", "plan"]) | _junk,
    "foo": _junk,
}


def _one(kind: str, *names: str) -> st.SearchStrategy[dict]:
    """A step of this kind that has what it needs, and perhaps more that it may have."""
    needed = {"id": _clean["id"], "kind": st.just(kind)} | {name: _clean[name] for name in names}
    every = ("depends_on", "when", "optional", "estimate")
    work = ("retries", "output_schema", "verify")
    own = {"agent": (*work, "tools", "model_hint", "escalate"), "tool": work, "map": ("width",)}.get(kind, ())
    more = st.lists(st.sampled_from([*every, *own]), max_size=2, unique=True)
    return more.flatmap(lambda chosen: st.fixed_dictionaries(needed | {name: _clean[name] for name in chosen}))


def _nested(inner: st.SearchStrategy) -> st.SearchStrategy:
    whole = st.fixed_dictionaries({"goal": st.just("g"), "steps": st.lists(inner, min_size=1, max_size=2)})
    return (
        inner
        | st.tuples(_one("map", "over"), inner).map(lambda pair: pair[0] | {"step": pair[1]})
        | st.tuples(_one("plan"), whole).map(lambda pair: pair[0] | {"plan": pair[1]})
    )


_steps = st.recursive(_one("agent", "task") | _one("tool", "tool", "args") | _one("approval", "question"), _nested, max_leaves=2)
submissions = st.fixed_dictionaries(
    {"goal": st.just("g"), "steps": st.lists(_steps, min_size=1, max_size=5, unique_by=lambda step: step["id"])},
    optional={
        "inputs": st.just({"city": {"default": "Graz"}, "list": {"type": "array", "default": []}}),
        "output": st.sampled_from(["${steps.a.output}", "${steps.b.data.x}"]),
        "limits": st.just({"max_iterations": 3}),
    },
)
"""What a careful person might submit: of the right shape, and wrong here and there."""

_entries = st.fixed_dictionaries({}, optional=_wild) | _junk | _steps
answers = st.fixed_dictionaries({"steps": st.lists(_entries, max_size=8)}, optional={"goal": _texts | _junk, "x": _junk})
"""What a bad model might answer when it is asked for a plan."""


@st.composite
def _sound(draw: st.DrawFn) -> Plan:
    """A plan without errors, of steps of all kinds."""
    steps: list[AnyStep] = []
    for place in range(draw(st.integers(1, 7))):
        needs = tuple(draw(st.sets(st.sampled_from([before.id for before in steps]), max_size=3))) if steps else ()
        shared = {"id": f"s{place}", "depends_on": needs, "when": draw(st.none() | st.just("true"))}
        agent = Step(**shared, task=f"do {place}", retries=draw(st.integers(0, 2)), tools=draw(st.none() | st.just(())))
        kinds: list[AnyStep] = [
            agent,
            ToolStep(**shared, tool="search", args={"q": "x"}),
            ApprovalStep(**shared, question="?"),
            MapStep(**shared, over=[1, 2], width=draw(st.none() | st.integers(1, 2)), step=Step(id="i", task="do ${item}")),
            PlanStep(**shared, plan=Draft(goal="within", steps=[Step(id="x", task="do x")])),
        ]
        steps.append(draw(st.sampled_from(kinds)))
    return Plan(goal="the goal", steps=steps, output=draw(st.none() | st.just("${steps.s0.output}")))


plans = _sound()
"""Plans that can be done, of steps of all kinds."""
