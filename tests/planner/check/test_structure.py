"""Checks of the plan by itself: for each code the smallest plan that raises it, and the nearest that doesn't."""

import anyio
import pytest

from planner.check.structure import nearest, structural_errors
from planner.plan import ApprovalStep, Input, ToolStep
from tests.planner.drafts import draft, step

CITY = {"city": Input()}


@pytest.mark.parametrize(
    ("wrong", "right", "code", "place", "words"),
    [
        pytest.param(draft(), draft(step("a")), "P001", "/steps", "no steps", id="P001"),
        pytest.param(draft(step("")), draft(step("a")), "P002", "/steps/0/id", "''", id="P002 empty"),
        pytest.param(draft(step("a b")), draft(step("a_b-1")), "P002", "/steps/0/id", "'a b'", id="P002 space"),
        pytest.param(draft(step("a/b")), draft(step("é漢")), "P002", "/steps/0/id", "'a/b'", id="P002 slash"),
        pytest.param(draft(step("a\n")), draft(step("a")), "P002", "/steps/0/id", r"'a\n'", id="P002 newline"),
        pytest.param(draft(step("a" * 65)), draft(step("a" * 64)), "P002", "/steps/0/id", "aaa", id="P002 long"),
        pytest.param(draft(step("a"), step("a")), draft(step("a"), step("A")), "P003", "/steps/1/id", "/steps/0", id="P003"),
        pytest.param(
            draft(step("a", "a")), draft(step("b"), step("a", "b")), "P004", "/steps/0/depends_on/0", "itself", id="P004"
        ),
        pytest.param(
            draft(step("t1"), step("t2", "t01")),
            draft(step("t1"), step("t2", "t1")),
            "P005",
            "/steps/1/depends_on/0",
            "no step named 't01'; did you mean 't1'? there are: t1, t2",
            id="P005",
        ),
        pytest.param(
            draft(step("a", "b"), step("b", "a")),
            draft(step("a"), step("b", "a")),
            "P006",
            "/steps/0/depends_on",
            "a -> b -> a",
            id="P006",
        ),
        pytest.param(
            draft(step("a", task="${steps.b.output}"), step("b", "a")),
            draft(step("a", task="$${steps.b.output}"), step("b", "a")),
            "P006",
            "/steps/0/depends_on",
            "a -> b -> a",
            id="P006 by reference",
        ),
        pytest.param(draft(step("a", task=" ")), draft(step("a", task="x")), "P007", "/steps/0/task", "no task", id="P007"),
        pytest.param(
            draft(step("a", task="")), draft(ToolStep(id="a", tool="t")), "P007", "/steps/0/task", "'a'", id="P007 agent only"
        ),
        pytest.param(
            draft(step("a", task="${HOME}")),
            draft(step("a", task="$${HOME}")),
            "P010",
            "/steps/0/task",
            "'${HOME}' is not a reference",
            id="P010 unreadable",
        ),
        pytest.param(
            draft(step("abc"), step("b", task="${steps.abd.output}")),
            draft(step("abc"), step("b", task="${steps.abc.output}")),
            "P010",
            "/steps/1/task",
            "did you mean 'abc'?",
            id="P010 unknown step",
        ),
        pytest.param(
            draft(step("a", task="${inputs.town}"), inputs=CITY),
            draft(step("a", task="${inputs.city}"), inputs=CITY),
            "P010",
            "/steps/0/task",
            "${inputs.town} names no input; there are: city",
            id="P010 unknown input",
        ),
        pytest.param(
            draft(step("a", task="${steps.a.output}")),
            draft(step("b"), step("a", task="${steps.b.output}")),
            "P010",
            "/steps/0/task",
            "refers to itself",
            id="P010 self",
        ),
        pytest.param(
            draft(ApprovalStep(id="a", question="${steps.z.output}")),
            draft(ApprovalStep(id="a", question="$${steps.z.output}")),
            "P010",
            "/steps/0/question",
            "${steps.z.output}",
            id="P010 in a question",
        ),
        pytest.param(
            draft(ToolStep(id="a", tool="t", args={"q": ["", {"k/1": "${steps.z.output}"}]})),
            draft(ToolStep(id="a", tool="t", args={"q": ["", {"k/1": "$ {steps.z.output}"}]})),
            "P010",
            "/steps/0/args/q/1/k~11",
            "names no step",
            id="P010 deep",
        ),
        pytest.param(
            draft(step("a"), output="a"),
            draft(step("a"), output="${steps.a.output}"),
            "P010",
            "/output",
            "the output 'a' is not a reference",
            id="P010 output",
        ),
        pytest.param(
            draft(step("a"), output="${inputs.city}", inputs=CITY),
            draft(step("a"), output="${steps.a.data.x}", inputs=CITY),
            "P010",
            "/output",
            "to one step",
            id="P010 output of an input",
        ),
        pytest.param(
            draft(step("a"), output="${steps.b.output}"),
            draft(step("a"), output=None),
            "P010",
            "/output",
            "names no step",
            id="P010 output unknown",
        ),
        pytest.param(draft(step("a"), goal=" "), draft(step("a"), goal="g"), "P013", "/goal", "no goal", id="P013"),
    ],
)
def test_codes(wrong, right, code, place, words):
    """A fault gives its code, once, at its place and in words that name it; the nearest plan without it gives nothing."""
    (found,) = structural_errors(wrong)

    assert (code, "error", place) == (found.code, found.severity, found.place)
    assert words in found.message
    assert () == structural_errors(right)


def test_all_at_once():
    """Every fault of a plan is named, whatever else is wrong with it."""
    broken = draft(
        step("a", "b"),
        step("b", "a"),
        step("c", "c", "zz", task=" "),
        step("c", task="${steps.q.output} ${x}"),
        step("?", task="d"),
        goal="",
        output="c",
    )

    codes = sorted(found.code for found in structural_errors(broken))

    assert ["P002", "P003", "P004", "P005", "P006", "P007", "P010", "P010", "P010", "P013"] == codes


def test_duplicates_make_no_circle():
    """Of two steps that share an id the first counts, so their edges are not mixed up into a circle that nobody wrote."""
    assert ["P003"] == [found.code for found in structural_errors(draft(step("a"), step("b", "a"), step("a", "b")))]


def test_every_circle():
    """Circles that share no step are all shown."""
    found = structural_errors(draft(step("a", "b"), step("b", "a"), step("x", "z"), step("y", "x"), step("z", "y")))

    assert ["each waits for the next: a -> b -> a", "each waits for the next: x -> z -> y -> x"] == [one.message for one in found]


@pytest.mark.anyio
@pytest.mark.real_clock
@pytest.mark.parametrize(
    ("large", "count"),
    [
        pytest.param([step(f"s{i}", *([f"s{i - 1}"] if i else [])) for i in range(10_000)], 0, id="chain"),
        pytest.param([*(step(f"s{i}") for i in range(9_999)), step("all", *(f"s{i}" for i in range(9_999)))], 0, id="fan-in"),
        pytest.param([step(f"s{i}", f"s{(i + 1) % 10_000}") for i in range(10_000)], 1, id="one large circle"),
        pytest.param([step(f"s{i}", f"x{i}", task="${steps.y.output}") for i in range(10_000)], 20_000, id="all wrong"),
    ],
)
async def test_ten_thousand_steps(large, count):
    """A plan of ten thousand steps is checked in a moment, right or wrong, and what is said of it stays short."""
    began = anyio.current_time()

    found = structural_errors(draft(*large))

    assert anyio.current_time() - began < 5  # it takes a fifth of a second; quadratic work would take minutes
    assert count == len(found)
    assert all(len(str(one)) < 500 for one in found)


def test_nearest_is_short():
    """Among thousands of names only the nearest is told, and how many there are."""
    assert "did you mean 's777'? there are 2000 others" == nearest("s_777", [f"s{i}" for i in range(2000)])
    assert "there are: a, b" == nearest("zzz", ["b", "a"])
