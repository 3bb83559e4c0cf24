"""The six: between them all classes of effects, calls side by side, a fan-out, approvals and questions, failures that are tried
again, and revised plans."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from planner import ApprovalStep, Plan, Step, ToolStep
from registry.errors import Unreachable
from registry.testing import asks, asks_many
from tests.scenarios.script import Pace, Script

STATIONS = ("east", "west", "upper", "lower")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """`facts` is how many a run writes that nothing disturbs. `answers` is what the user says to each question."""

    name: str
    goal: str | Plan
    script: Script
    facts: int
    pace: Pace = field(default_factory=Pace)
    answers: Mapping[str, str] = field(default_factory=dict)


HARBOURS = Scenario(
    name="harbours",
    goal="Compare the two harbours",
    facts=41,
    pace=Pace(seconds={"north": 1.0, "south": 1.3}),
    script=Script(
        plans=(
            [
                {"id": "north", "task": "Describe the north harbour", "depends_on": []},
                {"id": "south", "task": "Describe the south harbour", "depends_on": []},
                {"id": "compare", "task": "Compare them", "depends_on": ["north", "south"]},
            ],
            [{"id": "again", "task": "Compare them once more", "depends_on": ["north", "south"]}],
        ),
        tasks={
            "Describe the north harbour": [asks_many(("measure", {"harbour": "north"}), ("log", {"line": "north"})), "{seen}"],
            "Describe the south harbour": [asks_many(("measure", {"harbour": "south"}), ("log", {"line": "south"})), "{seen}"],
            "Compare them": [Unreachable("the model", "a passing storm")],
            "Compare them once more": ["30 beats 12"],
        },
        met="30 beats 12",
        answer="The south harbour is larger.",
    ),
)
"""A planned goal, steps side by side, a step whose model fails, and a revision that finds another way."""

SURVEY = Scenario(
    name="survey",
    goal=Plan(
        goal="Survey the stations",
        steps=(
            ToolStep(id="river", tool="measure", args={"harbour": "river"}),
            *(Step(id=name, task=f"Survey the {name} station, where ${{steps.river.output}}") for name in STATIONS),
            Step(id="report", task="Report", depends_on=STATIONS),
        ),
        output="${steps.report.output}",
    ),
    facts=66,
    pace=Pace(seconds={name: 0.3 + place / 10 for place, name in enumerate(STATIONS)}),
    script=Script(
        tasks={
            **{
                f"Survey the {name} station, where river is 5 deep": [
                    asks_many(
                        ("measure", {"harbour": name}),
                        ("measure", {"harbour": f"{name} quay"}),
                        ("log", {"line": f"smudged {name}"}),
                    ),
                    asks("measure", harbour=name),
                    "{seen}",
                ]
                for name in STATIONS
            },
            "Report": ["All four stations: {read}"],
        },
    ),
)
"""A fan-out of agents that call tools side by side, the same call twice among them, and write lines that smudge."""

LETTERS = Scenario(
    name="letters",
    goal=Plan(
        goal="Tell everybody",
        steps=(
            ToolStep(id="first", tool="post", args={"letter": "to the mayor"}),
            Step(id="others", task="Write to the others"),
            ToolStep(id="last", tool="post", args={"letter": "about ${steps.first.output}"}, depends_on=("others",)),
        ),
    ),
    facts=29,
    script=Script(
        tasks={
            "Write to the others": [
                asks_many(("post", {"letter": "to Ada"}), ("measure", {"harbour": "post office"}), ("post", {"letter": "to Bo"})),
                asks("post", letter="to Ada"),
                "{seen}",
            ]
        },
        answer="Everybody knows: {read}",
    ),
)
"""Effects that nobody can look up, one of them wanted twice."""

ACCOUNTS = Scenario(
    name="accounts",
    goal=Plan(
        goal="Settle the accounts",
        steps=(
            ToolStep(id="rent", tool="pay", args={"payee": "the landlord"}, in_doubt="probe"),
            Step(id="staff", task="Pay the staff", in_doubt="probe"),
            ToolStep(id="book", tool="log", args={"line": "${steps.rent.output}, ${steps.staff.output}"}),
        ),
        output="${steps.book.output}",
    ),
    facts=28,
    script=Script(
        tasks={
            "Pay the staff": [
                asks_many(("pay", {"payee": "Cy"}), ("log", {"line": "Cy"}), ("pay", {"payee": "Di"})),
                asks("pay", payee="Ed"),
                "{seen}",
            ]
        },
    ),
)
"""Effects that leave a record, which is asked after a crash."""

NOTICE = Scenario(
    name="notice",
    goal=Plan(
        goal="Publish a notice",
        steps=(
            Step(id="words", task="Find the words"),
            Step(id="depth", task="Measure the depth"),
            ApprovalStep(id="yes", question="Shall this go out: ${steps.words.output}?", depends_on=("depth",)),
            ToolStep(id="out", tool="publish", args={"notice": "${steps.words.output}"}, depends_on=("yes",)),
        ),
        output="${steps.out.output}",
    ),
    facts=40,
    answers={"Which colour?": "blue", "Which size?": "large"},
    script=Script(
        tasks={
            "Find the words": [
                asks("ask_user", question="Which colour?"),
                asks_many(("ask_user", {"question": "Which size?"}), ("post", {"letter": "to the printer"})),
                "{seen}",
            ],
            "Measure the depth": [asks("measure", harbour="north"), "{seen}"],
        },
    ),
)
"""What only people can say: answers to questions, a step that is an approval, and a tool that needs one."""

STORM = Scenario(
    name="storm",
    goal="Bring the cargo in",
    facts=52,
    pace=Pace(seconds={"unload": 0.3}, storm="unload"),
    script=Script(
        plans=(
            [
                {"id": "moor", "task": "Moor the ship", "depends_on": []},
                {"id": "unload", "task": "Unload the ship", "depends_on": []},
                {"id": "tell", "task": "Tell the owner", "depends_on": ["moor", "unload"]},
            ],
            [
                {"id": "unload", "task": "Unload the ship", "depends_on": []},
                {"id": "tell", "task": "Tell the owner", "depends_on": ["moor", "unload"]},
            ],
        ),
        tasks={
            "Moor the ship": [asks_many(("measure", {"harbour": "north"}), ("log", {"line": "smudged rope"})), "{seen}"],
            "Unload the ship": [
                asks_many(
                    ("measure", {"harbour": "hold"}),
                    ("log", {"line": "crates"}),
                    ("pay", {"payee": "the crew"}),
                    ("post", {"letter": "for customs"}),
                ),
                "{seen}",
            ],
            "Tell the owner": [asks("post", letter="to the owner"), "{seen}"],
        },
        met="posted: to the owner",
        answer="It is in: {read}",
    ),
)
"""A step that fails after its tools have acted, and is tried again by the revised plan: what was done is not done again."""

SCENARIOS = (HARBOURS, SURVEY, LETTERS, ACCOUNTS, NOTICE, STORM)
