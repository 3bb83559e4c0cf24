"""What a step mentions."""

from planner.mentions import mentions
from planner.plan import ToolStep
from planner.references import Unreadable
from tests.planner.drafts import step


def test_everything_is_found_where_it_stands():
    """Whatever looks like a reference is found with the place of the text that holds it, inputs and mistakes too."""
    found = mentions(ToolStep(id="t", tool="x", task="for ${inputs.i}", args={"a/b": ["${steps.a.data}"], "q": "${HOME}"})).found

    assert [("/task", ""), ("/args", "/a~1b/0"), ("/args", "/q")] == [(place, each.place) for place, each in found]
    assert ["${inputs.i}", "${steps.a.data}", "${HOME}"] == [each.text for _, each in found]
    assert Unreadable(text="${HOME}", place="/q") == found[2][1]


def test_steps_that_are_read_are_needed():
    """A step needs every step that it names or refers to, in its task or its arguments, each once."""
    caller = mentions(
        ToolStep(
            id="t",
            tool="x",
            task="use ${steps.b.output}",
            args={"q": ["${steps.a.data.x}", "${steps.b.output} ${inputs.i}"]},
            depends_on=("a", "c", "a"),
        )
    )
    silent = mentions(step("a", "b", task="no references: $${steps.c.output}"))

    assert (("b", "a"), ("a", "c", "b")) == (caller.read, caller.needs)
    assert ((), ("b",)) == (silent.read, silent.needs)
