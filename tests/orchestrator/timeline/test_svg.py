"""A timeline as a picture."""

from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from orchestrator.timeline.rows import Row, Timeline
from orchestrator.timeline.stretches import Stretch
from orchestrator.timeline.svg import AFTER, LABEL, ROW, WIDTH, drawn

NASTY = '<script>alert("x")</script><image href="http://here/"/> & \' \x00\x1b[31m\ud800\u202e]]>'
SVG = "{http://www.w3.org/2000/svg}"


def shown(*rows: Row, wall: float = 10.0) -> Timeline:
    return Timeline(rows=rows, wall=wall, away=0.0, step_seconds=1.0, path=(), path_seconds=1.0)


def parsed(picture: Timeline, title: str = "t") -> ElementTree.Element:
    return ElementTree.fromstring(drawn(picture, title=title, summary=NASTY).encode())


def row(name: str = "a", *stretches: Stretch, **fields) -> Row:
    return Row(step=name, stretches=stretches or (Stretch("running", 0.0, 5.0),), took=5.0, slack=0.0, **fields)


def test_nothing_in_it_is_taken_for_markup() -> None:
    """Whatever ids, tasks and goals hold, it is text: no element, no address, and nothing that XML can't hold."""
    picture = parsed(shown(row(NASTY, task=NASTY)), title=NASTY)

    assert {f"{SVG}{name}" for name in ("svg", "title", "style", "rect", "text", "line", "g")} == {
        each.tag for each in picture.iter()
    }
    assert all("href" not in name and not name.startswith("on") for each in picture.iter() for name in each.attrib)
    assert 'alert("x")' in "".join(picture.itertext())
    assert not set("\x00\x1b\u202e") & set("".join(picture.itertext()))


def test_it_stands_alone_and_is_read_in_the_dark() -> None:
    """No script, no address but its own name space, and colours for both."""
    text = drawn(shown(row()), title="t", summary="s")

    assert ["http://www.w3.org/2000/svg"] == [each for each in text.split('"') if "://" in each]
    assert "script" not in text
    assert "prefers-color-scheme: dark" in text


@pytest.mark.parametrize("steps", [1, 500])
def test_it_is_no_wider_for_more_steps(steps: int) -> None:
    """Each has a row of its own, below each other and within the picture."""
    picture = parsed(shown(*(row(f"s{number}", Stretch("running", number / 50, 10.0)) for number in range(steps))))
    bars = [each for each in picture.iter(f"{SVG}rect") if each.get("class") == "running" and each.get("height") == "12"]

    assert str(WIDTH) == picture.get("width")
    assert steps == len(bars)
    assert steps == len({bar.get("y") for bar in bars})
    assert all(float(bar.get("x", 0)) >= LABEL for bar in bars)
    assert all(float(bar.get("x", 0)) + float(bar.get("width", 0)) <= WIDTH - AFTER + 2 for bar in bars)
    assert float(picture.get("height", 0)) >= steps * ROW


def test_states_and_the_critical_path_are_told_apart() -> None:
    """By colour, and in words when one points at a row."""
    stretches = (
        Stretch("queued", 0.0, 1.0),
        Stretch("slot", 1.0, 2.0),
        Stretch("running", 2.0, 5.0),
        Stretch("person", 5.0, 6.0),
    )
    picture = parsed(shown(row("a", *stretches, critical=True, task="t"), row("b")))
    (first, second) = picture.iter(f"{SVG}g")

    assert ["queued", "slot", "running critical", "person"] == [each.get("class") for each in first.iter(f"{SVG}rect")]
    assert ["running"] == [each.get("class") for each in second.iter(f"{SVG}rect")]
    assert "a; t; queued 1.00 s; waits for a slot 1.00 s; runs 3.00 s; waits for a person 1.00 s" == first[0].text


@pytest.mark.parametrize(
    ("shown_row", "figures"),
    [
        pytest.param(Row(step="a"), "not begun", id="not begun"),
        pytest.param(Row(step="a", end="skipped"), "skipped", id="skipped"),
        pytest.param(row("a", end="failed"), "5.0 s failed", id="failed"),
        pytest.param(row("a"), "5.0 s so far", id="under way"),
        pytest.param(Row(step="a", end="succeeded"), None, id="the result of another step that does the same"),
        pytest.param(replace(row("a", end="succeeded"), slack=2.5), "5.0 s, slack 2.5 s", id="slack"),
    ],
)
def test_figures_stand_beside_the_bars(shown_row: Row, figures: str | None) -> None:
    """What it took and could have taken, or why it took nothing."""
    (group,) = parsed(shown(shown_row)).iter(f"{SVG}g")

    assert figures == group[-1].text


def test_an_empty_run_is_a_picture_too() -> None:
    """Without steps and without time."""
    assert "0 s" in "".join(parsed(shown(wall=0.0)).itertext())
