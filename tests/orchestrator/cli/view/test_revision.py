"""What a revised plan changed, for people."""

from orchestrator.cli.view.revision import SHOWN, Revisions, revision_lines
from orchestrator.events.facts import PlanReady
from orchestrator.events.project import ChannelMessage, project
from planner import AnyStep, ApprovalStep, Plan, Step, ToolStep
from planner.diff import plan_diff
from tests.orchestrator.cli.view.script import recorded

LOOK, COUNT = Step(id="look", task="Look"), ToolStep(id="count", tool="count")


def told(*plans: list[AnyStep]) -> list[ChannelMessage]:
    """The messages of a run whose plans are these."""
    built = [Plan(goal="g", steps=steps) for steps in plans]
    before = [None, *built]
    facts = [
        PlanReady(plan=plan, round=number, diff={} if old is None else plan_diff(old, plan))
        for number, (old, plan) in enumerate(zip(before, built, strict=False), 1)
    ]
    return [message for each in recorded(facts) for message in project(each).messages]


def test_what_was_added_changed_removed_and_kept() -> None:
    """New steps with what they come after and are for, changed ones with their fields, the others by name."""
    revised = [
        LOOK,
        Step(id="sum", task="Sum", tool_hint="add", depends_on=["look"]),
        ApprovalStep(id="ask", question="Go on?"),
        ToolStep(id="send", tool="send", depends_on=["ask"]),
    ]

    assert [
        "plan 2: added ask: Go on?",
        "plan 2: added send (after ask): send",
        "plan 2: changed sum: another depends_on, tool_hint",
        "plan 2: removed count",
        "plan 2: kept look",
    ] == list(revision_lines(told([LOOK, Step(id="sum", task="Sum"), COUNT], revised)))


def test_each_plan_is_seen_against_the_one_before() -> None:
    """The first changes nothing, the third only what it changes itself."""
    third = [Step(id="look", task="Look twice")]

    assert ["plan 2: removed count", "plan 2: kept look", "plan 3: changed look: another task"] == list(
        revision_lines(told([LOOK, COUNT], [LOOK], third))
    )


def test_a_large_revision_is_told_by_its_beginning() -> None:
    """Not every one of thousands of steps has its line."""
    many: list[AnyStep] = [Step(id=f"s{number}", task=f"do {number}") for number in range(2_000)]

    lines = list(revision_lines(told([LOOK], many)))

    assert SHOWN + 2 == len(lines)
    assert ["plan 2: added 1,992 more steps", "plan 2: removed look"] == lines[SHOWN:]


def test_who_did_not_see_the_plan_before_knows_what_changed() -> None:
    """A page that was opened late can't say in which fields, and says the rest."""
    *_, last = told([LOOK, COUNT], [Step(id="look", task="Look twice"), COUNT])

    assert ["plan 2: changed look", "plan 2: kept count"] == list(Revisions().lines(last.payload))
