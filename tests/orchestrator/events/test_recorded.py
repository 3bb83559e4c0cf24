"""The one codec of events."""

from decimal import Decimal
from typing import get_args

import pytest
from msgspec import DecodeError

from orchestrator.events.facts import AnswerWritten, Fact, InterruptReceived, RunStarted, ToolEnded
from orchestrator.events.glimpses import Glimpse
from orchestrator.events.recorded import Event, Recorded, Unwritable, decode, decode_fact, encode, encode_fact
from registry.usage import Usage
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


def test_runs_without_limits_are_read_too() -> None:
    """Those were begun before there were any."""
    line = (
        b'{"seq":1,"time":0.0,"run":"r1","event":'
        b'{"goal":"g","plan":null,"inputs":{},"today":"2026-12-01","setup":{},"schema":1,"kind":"run_started"}}'
    )

    assert RunStarted(goal="g", plan=None, inputs={}, today="2026-12-01") == decode(line).event


def test_money_keeps_every_digit() -> None:
    """A cost is written as text, which no reader rounds."""
    event = AnswerWritten(text="x", by="m", usage=Usage(requests=1, cost=Decimal("0.10000000000000000001"), priced=1))
    line = encode(Recorded(seq=1, time=0.0, run="r1", event=event))

    assert b'"cost":"0.10000000000000000001"' in line
    assert event == decode(line).event


def test_a_usage_from_before_there_were_prices_is_unpriced() -> None:
    """An older line has no cost, and that is not a cost of nothing."""
    usage = '{"requests":2,"input_tokens":90,"output_tokens":10,"unmetered":0}'
    line = f'{{"seq":1,"time":0,"run":"r","event":{{"kind":"answer_written","text":"x","by":"m","usage":{usage}}}}}'

    event = decode(line.encode()).event

    assert isinstance(event, AnswerWritten)
    assert Usage(requests=2, input_tokens=90, output_tokens=10) == event.usage
    assert 2 == event.usage.unpriced


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
    with pytest.raises(DecodeError):
        decode(line)


@pytest.mark.parametrize("event", [event for event in SAMPLES if isinstance(event, get_args(Fact))], ids=kinds)
def test_a_fact_comes_back_without_its_envelope(event: Fact) -> None:
    """A journal that keeps place and time apart gets the Fact alone, and the same one back."""
    again = decode_fact(encode_fact(event))

    assert (type(event), event) == (type(again), again)


def test_a_glimpse_is_no_fact() -> None:
    """What is never journalled is not read from a journal."""
    with pytest.raises(DecodeError):
        decode_fact(b'{"kind":"answer_began"}')


def test_what_could_not_be_read_again_is_not_written() -> None:
    """A value of a wrong type is our own fault, and better found out when it is written."""
    with pytest.raises(Unwritable, match="this InterruptReceived could not be read again: Expected `str`, got `int`"):
        encode_fact(InterruptReceived(text=5))  # type: ignore[arg-type]


def test_half_a_surrogate_pair_is_written_as_a_question_mark() -> None:
    """A model can say what JSON can't hold; the rest of it is kept."""
    assert InterruptReceived(text="a?b\U0001f600") == decode_fact(encode_fact(InterruptReceived(text="a\ud800b\U0001f600")))


def test_an_observation_from_before_there_were_artefacts_has_none() -> None:
    """An older line is read as it was meant."""
    observation = '{"call_id":"c1","name":"search","text":"found","error":null,"data":null,"origins":[],"seconds":0.5}'
    line = f'{{"kind":"tool_ended","key":"k","scope":"s","step":"look","iteration":1,"observation":{observation}}}'

    fact = decode_fact(line.encode())

    assert isinstance(fact, ToolEnded)
    assert () == fact.observation.artifacts
