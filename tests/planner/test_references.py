"""References: found, followed, rewritten."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import BrokenReference
from planner.plan import ToolStep
from planner.references import (
    Own,
    Unreadable,
    find,
    forgiven,
    look_up,
    only,
    quoted,
    renamed,
    rendered,
    resolve,
    rewrite,
    scan,
)
from planner.results import Failed, Skipped, Succeeded

INPUTS = {"city": "Graz", "tags": ["x", {"deep": 1}], "none": None}
RESULTS = {
    "a": Succeeded(
        step="a",
        output="found it",
        data={"items": [{"name": "n0"}], "n": 3, "odd key": 1, "ok": True, "null": None},
        origins=("tool:web",),
    ),
    "b": Succeeded(step="b", output="plain ${steps.a.output}", origins=("tool:disk",)),
    "f": Failed(step="f", error="ToolFailed", message="no network", origins=("tool:net",)),
    "s": Skipped(step="s", because_of="f", reason="'f' did not succeed"),
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("${inputs.city}", "Graz", id="input"),
        pytest.param("${inputs.tags[1].deep}", 1, id="path into an input"),
        pytest.param("${inputs.none}", None, id="null input"),
        pytest.param("${steps.a.output}", "found it", id="output"),
        pytest.param("${steps.a.data}", RESULTS["a"].data, id="data whole"),
        pytest.param("${steps.a.data.items[0].name}", "n0", id="path"),
        pytest.param("${steps.a.data.n}", 3, id="alone keeps its type"),
        pytest.param("n=${steps.a.data.n}, ${steps.a.data.ok} ${steps.a.data.null}", "n=3, true null", id="in text"),
        pytest.param("${steps.a.data.items}!", '[{"name":"n0"}]!', id="compact JSON in text"),
        pytest.param("$${inputs.city}", "${inputs.city}", id="escape alone"),
        pytest.param("a $${x} ${inputs.city}", "a ${x} Graz", id="escape beside a reference"),
        pytest.param("$$${inputs.city}", "$${inputs.city}", id="dollar before an escape"),
        pytest.param("costs $5 or {x}", "costs $5 or {x}", id="dollars and braces alone"),
        pytest.param("compare $1 with $7", "compare $1 with $7", id="shell style is text"),
        pytest.param("${steps.b.output}", "plain ${steps.a.output}", id="never twice"),
        pytest.param({"q": ["${inputs.city}", 1, None], "k": True}, {"q": ["Graz", 1, None], "k": True}, id="any depth"),
        pytest.param("${steps.f.output}", "(no result: step 'f' failed: no network)", id="failed"),
        pytest.param("${steps.f.data.x[3]}", "(no result: step 'f' failed: no network)", id="data of failed"),
        pytest.param("see ${steps.s.output}", "see (no result: step 's' was skipped: 'f' did not succeed)", id="skipped"),
    ],
)
def test_resolve(value, expected):
    """A reference becomes what it leads to: of its own type when it stands alone, text inside text."""
    assert expected == resolve(value, inputs=INPUTS, results=RESULTS).value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        pytest.param("${inputs.town}", "no input named 'town'; there are: city, none, tags", id="unknown input"),
        pytest.param("${steps.zz.output}", "step 'zz' has not ended", id="no such result"),
        pytest.param("${steps.b.data.x}", "step 'b' gave plain text and no data", id="no data"),
        pytest.param("${steps.a.data.nix}", "an object with the keys: items, n, null, odd key, ok", id="no such key"),
        pytest.param("${steps.a.data.items[1]}", "no 1 in a list of 1", id="past the end"),
        pytest.param("${steps.a.data.items.name}", "no 'name' in a list of 1", id="key of a list"),
        pytest.param("${inputs.city[0]}", "no 0 in a text", id="position in a text"),
        pytest.param("${steps.a.data.n.x}", "no 'x' in 3", id="key of a number"),
        pytest.param("${HOME}", "for a plain ${ write $${", id="not a reference"),
        pytest.param("open ${steps.a.output", "for a plain ${ write $${", id="unclosed"),
    ],
)
def test_broken(value, why):
    """A reference that can't be followed is an error that names it and says what there is."""
    with pytest.raises(BrokenReference) as raised:
        resolve({"deep": [value]}, inputs=INPUTS, results=RESULTS)

    assert raised.value.reference in value
    assert why in str(raised.value)


@pytest.mark.parametrize(
    ("value", "origins"),
    [
        pytest.param("${inputs.city}", (), id="inputs are trusted"),
        pytest.param("nothing", (), id="plain text"),
        pytest.param("${steps.a.data.n}", ("tool:web",), id="one result"),
        pytest.param(["${steps.a.output} ${steps.b.output}"], ("tool:disk", "tool:web"), id="joined"),
        pytest.param("${steps.f.output}", ("tool:net",), id="failed"),
        pytest.param("${steps.s.output}", (), id="skipped"),
    ],
)
def test_origins(value, origins):
    """What is resolved carries the origins of every result that was read."""
    assert origins == resolve(value, inputs=INPUTS, results=RESULTS).origins


def test_broken_reference_carries_origins():
    """The sentence may quote keys of a result, so the error carries that result's origins."""
    with pytest.raises(BrokenReference) as raised:
        resolve("${steps.a.data.nix}", inputs={}, results=RESULTS)

    assert ("tool:web",) == raised.value.origins


@pytest.mark.parametrize(
    "text",
    [
        "${}",
        "${x}",
        "${inputs}",
        "${inputs.}",
        "${inputs.a b}",
        "${steps.a}",
        "${steps.a.result}",
        "${steps.a.output.x}",
        "${steps.a.output[0]}",
        "${steps.a.data[x]}",
        "${steps.a.data[-1]}",
        "${steps.a.data.__class__()}",
        "${steps.a.data[0]+1}",
        "${ inputs.a }",
        "${1+1}",
        "${",
    ],
)
def test_only_paths(text):
    """Whatever is no plain path is unreadable: there is no code in references."""
    assert [Unreadable(text=text)] == list(scan(text))
    assert () == find(text)


def test_find_tells_where():
    """Each reference is found with its place, path and text, in order."""
    found = find({"a/b": ["x ${inputs.city} y", {"k": "${steps.a.data.items[0].name}"}]})

    assert [("/a~1b/0", "inputs", "city", (), "${inputs.city}"), ("/a~1b/1/k", "steps", "a", ("data", "items", 0, "name"))] == [
        (found[0].place, found[0].source, found[0].name, found[0].path, found[0].text),
        (found[1].place, found[1].source, found[1].name, found[1].path),
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param("${steps.a.output}", "a", id="one reference"),
        pytest.param("${steps.a.output} ", None, id="with text"),
        pytest.param("${steps.a.output}${steps.b.output}", None, id="two"),
        pytest.param("$${steps.a.output}", None, id="escaped"),
        pytest.param("$${", None, id="escape alone"),
        pytest.param("${steps.a}", None, id="unreadable"),
        pytest.param("a", None, id="text"),
    ],
)
def test_only(text, name):
    """A text is one reference or it is not."""
    found = only(text)

    assert name == (found and found.name)


def test_rewrite():
    """References are written anew in their place; escapes and everything else stay."""
    value = {"k": ["a ${steps.a.data.x[0]} $${steps.a.output} ${steps.steps.output}", 1]}

    changed = rewrite(value, lambda found: renamed(found, f"new-{found.name}"))

    assert {"k": ["a ${steps.new-a.data.x[0]} $${steps.a.output} ${steps.new-steps.output}", 1]} == changed


@given(st.text(alphabet="ab${}.[]0 ", max_size=30))
def test_escaping_is_exact(text):
    """Any text can be written: escaped, it resolves to itself."""
    assert text == resolve(text.replace("${", "$${"), inputs={}, results={}).value


def test_rendered():
    """Text stays text; other JSON values are compact and readable."""
    assert "ü" == rendered("ü")
    assert '{"a":["ü",1.5]}' == rendered({"a": ["ü", 1.5]})


OWN = Own(values={"item": {"a": [1]}, "index": 2, "output": "mine"}, origins=("tool:list",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${item.a[0]}", 1),
        ("no. ${index}: ${output}", "no. 2: mine"),
        ("${steps.a.status}", "succeeded"),
        ("${steps.f.status} ${steps.s.status}", "failed skipped"),
    ],
)
def test_what_a_place_gives(text, expected):
    """Names of its own, and how steps ended."""
    assert expected == resolve(text, inputs={}, results=RESULTS, own=OWN).value


def test_own_names_are_not_everywhere():
    """Where the place gives nothing of the name, that is said."""
    with pytest.raises(BrokenReference, match="there is no data here"):
        resolve("${data.x}", inputs={}, results={}, own=OWN)


@pytest.mark.parametrize("text", ["${index.a}", "${output.a}", "${items}", "${steps.a.status.x}", "${steps.a.state}"])
def test_own_names_have_the_paths_they_can_have(text):
    """A number and a text have no parts."""
    assert [Unreadable] == [type(found) for found in scan(text)]


def test_forgiven():
    """Only a look at the status can do with any end."""
    assert {"a"} == forgiven("${steps.a.status} == 'failed' and ${steps.b.output} == 'x' and ${inputs.i}")
    assert set() == forgiven(None)


def test_quoted():
    """What stands in the task and the arguments, and not what only a condition or a check looks at."""
    checked = ToolStep(
        id="t",
        tool="t",
        args={"x": "${steps.a.output}"},
        when="${steps.b.output} == 'x'",
        verify={"tool": "u", "args": {"y": "${steps.c.output}"}},
    )

    assert {"a"} == quoted(checked)


@pytest.mark.parametrize("name", ["f", "s"])
def test_a_result_that_is_not_there_is_not_looked_at(name):
    """Where a value decides something a sentence in its place would not do; how the step ended may be asked."""
    output, status = find(f"${{steps.{name}.output}} ${{steps.{name}.status}}")
    with pytest.raises(BrokenReference, match="look at its status first"):
        look_up(output, inputs={}, results=RESULTS)

    assert RESULTS[name].kind == look_up(status, inputs={}, results=RESULTS).value
