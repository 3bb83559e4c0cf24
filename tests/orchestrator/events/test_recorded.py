"""The one codec of events."""

from typing import get_args

import pytest
from pydantic import ValidationError

from orchestrator.events.facts import Fact
from orchestrator.events.glimpses import Glimpse
from orchestrator.events.recorded import Event, Recorded, decode, encode
from tests.orchestrator.events.samples import SAMPLES


def kinds(event: Event) -> str:
    return event.kind


@pytest.mark.parametrize("event", SAMPLES, ids=kinds)
def test_every_event_comes_back_as_it_went(event: Event) -> None:
    """What is encoded decodes to an equal value of the same types, plans and results inside included."""
    recorded = Recorded(seq=7, time=1765000000.25, run="r1", event=event)

    again = decode(encode(recorded))

    assert recorded == again
    assert type(event) is type(again.event)
    assert encode(recorded) == encode(again)


def test_there_is_a_sample_of_every_event() -> None:
    """No event type is left out of the round trip above."""
    assert {*get_args(Fact), *get_args(Glimpse)} == {type(event) for event in SAMPLES}


def test_kinds_are_told_apart() -> None:
    """No two event types share a kind, or one would be read as the other."""
    assert len({*get_args(Fact), *get_args(Glimpse)}) == len({event.kind for event in SAMPLES})


@pytest.mark.parametrize("event", SAMPLES, ids=kinds)
def test_an_event_is_one_line(event: Event) -> None:
    """A journal and `--json` have one line for each event, whatever text is in it."""
    line = encode(Recorded(seq=None, time=0.0, run="r1", event=event))

    assert b"\n" not in line
    assert b"\r" not in line


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{}", id="no fields"),
        pytest.param(b'{"seq":1,"time":0,"run":"r","event":{"kind":"rumour"}}', id="unknown kind"),
        pytest.param(b'{"seq":1,"time":0,"run":"r","event":{"kind":"phase_began","phase":"dreaming"}}', id="unknown phase"),
        pytest.param(b'{"seq":1,"time":0,"run":"r","event":{"kind":"answer_beg', id="torn"),
    ],
)
def test_what_is_not_an_event_is_refused(line: bytes) -> None:
    """Only the closed set of event types is built; all else raises."""
    with pytest.raises(ValidationError):
        decode(line)
