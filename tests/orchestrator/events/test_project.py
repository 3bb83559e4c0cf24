"""What watchers are told of each event."""

import json
from typing import Any

import pytest
from msgspec.structs import asdict, replace

from orchestrator.events.facts import AnswerWritten, ModelReplied, PhaseBegan, StepEnded, ToolStarted
from orchestrator.events.project import PREVIEW, ChannelMessage, project
from orchestrator.events.recorded import Event, Recorded, encode
from planner.results import Succeeded
from registry.calls import Purpose
from registry.messages import Reply
from registry.usage import UNMETERED
from tests.orchestrator.events.samples import CALL, PLAN, REPAIR, REPLY, SAMPLES, USAGE, WAITING

Told = list[tuple[str, dict[str, Any]]]

LAP = {"step_id": "look", "iteration": 1}

SHOWN = {"id": WAITING.id, "kind": "approval", "step_id": "count", "what": "send this?"}

DONE = {"iterations": 5, "usage": {**asdict(USAGE), "cost": "0.00000012345678901"}, "elapsed": 4.5, "run_id": "r1"}

EXPECTED: tuple[Told, ...] = (
    [],
    [],
    [("phase", {"phase": "planning"})],
    [("phase", {"phase": "selecting_tools", "total_tools": 40})],
    [
        (
            "plan",
            {
                "plan": PLAN.model_dump(mode="json"),
                "round": 2,
                "diagnostics": [
                    {
                        "code": "P005",
                        "severity": "repair",
                        "place": "/steps/1/depends_on/0",
                        "message": "'luk' named no step",
                        "fix": "removed",
                        "line": None,
                        "column": None,
                    }
                ],
                "diff": {"added": ["count"], "kept": ["look"]},
            },
        )
    ],
    [
        (
            "step_progress",
            {"step_id": "look", "event": "started", "attempt": 2, "model": "small", "task": "Look", "kind": "agent"},
        )
    ],
    [
        ("step", {**LAP, "type": "thinking", "status": "done", "reasoning": "Let me look."}),
        ("step_progress", {**LAP, "event": "iteration", "seconds": 0.75, "tokens": 100, "tokens_exact": True}),
    ],
    [
        (
            "step_progress",
            {**LAP, "event": "iteration", "error": "Unreachable", "message": "gone", "tokens": 0, "tokens_exact": False},
        )
    ],
    [
        (
            "step",
            {
                **LAP,
                "type": "iteration",
                "status": "start",
                "call_id": "c1",
                "tool_name": "search",
                "tool_args": {"q": "x", "n": 123456789012345678901},
            },
        )
    ],
    [
        (
            "step",
            {
                **LAP,
                "type": "iteration",
                "status": "done",
                "call_id": "c1",
                "tool_name": "search",
                "observation": "found",
                "error": None,
                "iter_elapsed": 0.25,
            },
        )
    ],
    [
        (
            "step",
            {
                **LAP,
                "type": "iteration",
                "status": "done",
                "call_id": "c2",
                "tool_name": "draw",
                "observation": "[Artifact: chart.png, image/png, 4 bytes; shown to the user, do not repeat it]",
                "error": None,
                "iter_elapsed": 0.0,
                "artifacts": [{"name": "chart.png", "media_type": "image/png", "content": "iVBORw==", "base64": True, "size": 4}],
            },
        )
    ],
    [
        (
            "step_progress",
            {
                "step_id": "count",
                "event": "retried",
                "model": "",
                "seconds": 2.0,
                "tokens": 0,
                "tokens_exact": False,
                "error": "ToolFailed",
                "message": "no",
            },
        )
    ],
    [
        (
            "step_progress",
            {
                "step_id": "look",
                "event": "completed",
                "model": "small",
                "seconds": 1.5,
                "tokens": 100,
                "tokens_exact": True,
                "output": "seen\n" * 40,
            },
        )
    ],
    [
        (
            "step_progress",
            {
                "step_id": "count",
                "event": "failed",
                "model": "",
                "seconds": 2.0,
                "tokens": 0,
                "tokens_exact": False,
                "error": "ToolFailed",
                "message": "no",
            },
        )
    ],
    [("step_progress", {"step_id": "count", "event": "skipped", "because_of": "look", "reason": "look failed"})],
    [("inject", {"type": "inject", "content": "Also the third"})],
    [],
    [],
    [],
    [("answer", {"status": "done"})],
    [("done", {**DONE, "answer": "The answer", "achieved": True, "outcome": "achieved", "error": ""})],
    [("done", {**DONE, "answer": "", "achieved": False, "outcome": "failed", "error": "no model"})],
    [("phase", {"phase": "interrupted", "why": "the process ended"})],
    [("phase", {"phase": "plan_rejected", "diagnostics": [asdict(REPAIR)]})],
    [("step_progress", {"step_id": "count", "event": "paused", "why": "send this?", "waiting": SHOWN})],
    [
        (
            "step_progress",
            {"event": "answered", "waiting": WAITING.id, "decision": "approve", "text": "go on", "by": "Ada"},
        )
    ],
    [("phase", {"phase": "suspended", "waiting": [SHOWN]})],
    [("phase", {"phase": "cancelling", "why": "enough"})],
    [("phase", {"phase": "stopping", "why": "late"})],
    [],
    [],
    [("phase", {"phase": "landing", "limit": "cost", "used": 0.81})],
    [],
    [
        (
            "done",
            {
                **DONE,
                "answer": "Half of it",
                "achieved": False,
                "outcome": "missing",
                "error": "",
                "budget": {
                    "limits": {"requests": 10, "cost": "0.5"},
                    "spent": {"requests": 9, "cost": "0.41"},
                    "estimated": 1,
                    "near": "cost",
                },
            },
        )
    ],
    [("step", {**LAP, "type": "thinking", "status": "start"})],
    [("step_progress", {"step_id": "look", "event": "paused", "why": "waits for a free request slot"})],
    [("step_progress", {"step_id": "look", "event": "resumed", "waited": 1.5})],
    [("compact", {"step_id": "look", "iteration": 2, "original_messages": 40, "kept_messages": 12})],
    [("step", {"step_id": "look", "type": "answer", "status": "start"})],
    [("answer", {"status": "start"})],
    [("answer", {"status": "delta", "content": "The ", "part": 1, "offset": 12})],
    [("answer", {"status": "reset", "part": 1, "offset": 0, "why": "it broke off"})],
)
"""What each of `SAMPLES` says, in their order."""


def recorded(event: Event, seq: int | None = 7) -> Recorded:
    return Recorded(seq=seq, time=1.5, run="r1", event=event)


def told(event: Event) -> Told:
    return [(message.channel, dict(message.payload)) for message in project(recorded(event)).messages]


@pytest.mark.parametrize(
    ("event", "expected"),
    [pytest.param(event, expected, id=event.kind) for event, expected in zip(SAMPLES, EXPECTED, strict=True)],
)
def test_an_event_says(event: Event, expected: Told) -> None:
    """Every event has exactly its messages, on their channels, with the payloads that clients rely on."""
    assert expected == told(event)


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: event.kind)
def test_payloads_are_plain_json(event: Event) -> None:
    """A payload is JSON as it stands: encoding and decoding it changes nothing."""
    for message in project(recorded(event)).messages:
        assert message.payload == json.loads(json.dumps(message.payload, allow_nan=False))


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: event.kind)
def test_no_event_has_more_than_two_messages(event: Event) -> None:
    """Clients resume at `seq.0` or `seq.1`: there is nothing beyond."""
    assert len(project(recorded(event)).messages) <= 2


def test_messages_of_a_fact_are_numbered() -> None:
    """A Fact's messages carry its seq and their place, so that `Last-Event-ID` finds them again."""
    reply = ModelReplied(key="k", scope="s", purpose="step", step="a", iteration=1, reply=REPLY, seconds=1.0)

    assert ["7.0", "7.1"] == [message.id for message in project(recorded(reply)).messages]


def test_messages_of_a_glimpse_have_no_id() -> None:
    """What isn't journalled can't be resumed at."""
    glimpses = [event for event in SAMPLES if event.kind in ("thinking_began", "concluding", "answer_piece", "answer_reset")]

    assert {None} == {message.id for event in glimpses for message in project(recorded(event, seq=None)).messages}


@pytest.mark.parametrize("purpose", ["plan", "verdict", "selection", "compaction", "synthesis", "structured"])
def test_only_the_laps_of_steps_are_told(purpose: Purpose) -> None:
    """Model calls outside a step's loop say nothing: a phase has said what goes on."""
    reply = ModelReplied(key="k", scope=purpose, purpose=purpose, step=purpose, iteration=0, reply=REPLY, seconds=1.0)

    assert [] == told(reply)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param(Reply(text="said", calls=(CALL,), reasoning="thought"), "thought", id="apart"),
        pytest.param(Reply(text="said", calls=(CALL,)), "said", id="beside the calls"),
        pytest.param(Reply(text='{"reasoning": "because", "tool_call": {}}', reasoning="thought"), "because", id="in the JSON"),
        pytest.param(
            Reply(text='{"reasoning": "", "final_answer": "x"}', reasoning="thought"), "thought", id="empty in the JSON"
        ),
        pytest.param(Reply(text='{"reasoning": ["a"]}'), "", id="no text in the JSON"),
        pytest.param(Reply(text="[1, 2]"), "", id="JSON that is no object"),
        pytest.param(Reply(text="The answer is 42."), "", id="the answer is no reasoning"),
    ],
)
def test_reasoning_is_found_where_the_model_put_it(reply: Reply, expected: str) -> None:
    """Thinking kept apart, text beside tool calls, or the `reasoning` of a JSON reply."""
    event = ModelReplied(key="k", scope="s", purpose="step", step="a", iteration=1, reply=reply, seconds=1.0)

    assert expected == told(event)[0][1]["reasoning"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param('{"a": [1]}', {"a": [1]}, id="object"),
        pytest.param("", "", id="empty"),
        pytest.param('{"a": 1', '{"a": 1', id="torn"),
        pytest.param('{"a": NaN}', '{"a": NaN}', id="not strict"),
        pytest.param('"\\ud800"', '"\\ud800"', id="lone surrogate"),
    ],
)
def test_tool_arguments_are_values_where_they_can_be(arguments: str, expected: object) -> None:
    """Arguments are told as the JSON value they are; what is not JSON is told as the model wrote it."""
    event = ToolStarted(key="k", scope="s", step="a", iteration=1, call_id="c", tool="t", arguments=arguments, effect="pure")

    assert expected == told(event)[0][1]["tool_args"]


def test_an_output_is_only_previewed() -> None:
    """A step's end shows the beginning of its output; whoever wants all of it reads the journal."""
    ended = StepEnded(scope="s", result=Succeeded(step="a", output="é" * 1000))

    assert "é" * PREVIEW == told(ended)[0][1]["output"]


def test_a_result_that_was_taken_over_says_from_whom() -> None:
    """A step that does the same as another one names it; of its own work there is nothing to say."""
    result = Succeeded(step="b", output="x")

    assert "a" == told(StepEnded(scope="s", result=result, same_as="a"))[0][1]["same_as"]
    assert "same_as" not in told(StepEnded(scope="s", result=result))[0][1]


def test_unmetered_tokens_are_a_lower_bound() -> None:
    """Tokens that nobody reported are told as such, next to those that somebody did."""
    ended = StepEnded(scope="s", result=Succeeded(step="a", output="", usage=USAGE + UNMETERED))

    assert (100, False) == (told(ended)[0][1]["tokens"], told(ended)[0][1]["tokens_exact"])


def test_the_line_is_the_encoded_event_and_made_once() -> None:
    """All watchers of a projection share one encoding, and it is made when the first of them asks."""
    event = recorded(AnswerWritten(text="Grüße", by="m"))
    projection = project(event)

    assert "line" not in vars(projection)
    assert encode(event) == projection.line
    assert projection.line is projection.line


def test_projecting_is_pure() -> None:
    """The same event always says the same, and equal projections are equal."""
    event = recorded(PhaseBegan(phase="planning"))

    assert project(event) == project(replace(event))
    assert (ChannelMessage(channel="phase", payload={"phase": "planning"}, id="7.0"),) == project(event).messages
