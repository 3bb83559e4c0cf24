"""What agents and the synthesis are told."""

from contextlib import aclosing

import pytest

from orchestrator.agent import ReActAgent
from orchestrator.prompts import TRACE_CUT, agent_system, step_system, step_task, synthesis_messages, trace_request, unwritten
from planner.results import Achieved, Failed, Missing, Skipped, Succeeded, Verdict
from registry.context import request_tokens
from registry.messages import AssistantMessage, SystemMessage, TextPiece, ToolCall, ToolMessage, UserMessage
from registry.testing import ScriptedModel


def test_instructions_follow_the_system_prompt() -> None:
    """A dialect that has nothing to add changes nothing."""
    assert "be brief\n\nuse JSON" == agent_system("be brief", "use JSON")
    assert "be brief" == agent_system("be brief", "")


def test_a_step_is_told_goal_task_and_findings() -> None:
    """The goal is the frame; then come the task, each finding under its step's name, and the tool that suits."""
    told = step_task("the task", [("a", "found a"), ("b", "found b")], tool_hint="search")
    places = [told.index(part) for part in ("the task", "Result of a:\nfound a", "Result of b:\nfound b", "search")]

    assert sorted(places) == places
    assert "the task" == step_task("the task", [], tool_hint=None)
    assert step_system("{braces} and all").endswith("The goal of the whole plan: {braces} and all")


@pytest.mark.parametrize(
    ("verdict", "lacking"),
    [
        pytest.param(Missing(reasoning="why", missing=("x", "y")), "- x\n- y", id="listed"),
        pytest.param(Missing(reasoning="why", missing=()), "- why", id="only a reason"),
    ],
)
def test_the_writer_is_told_what_is_missing(verdict: Verdict, lacking: str) -> None:
    """An answer to a goal that was not met has to say what is missing."""
    _, asked = synthesis_messages("the goal", [("a", "found")], verdict, ())

    assert "Say plainly what is missing:\n" + lacking in asked.text
    assert "## a\nfound" in asked.text


def test_the_writer_is_not_told_of_lacks_where_there_are_none() -> None:
    """For a goal that was met nothing is said to be missing; the origins of the results stay with them."""
    system, asked = synthesis_messages("the goal", [("a", "found")], Achieved(reasoning=""), ("tool:read",))

    assert "missing" not in asked.text
    assert (SystemMessage, ("tool:read",)) == (type(system), asked.origins)


def test_a_trace_has_everything_but_the_system_prompt() -> None:
    """Goal, replies, calls and results in order; long results are cut with a mark; origins stay."""
    transcript = (
        SystemMessage(text="secret"),
        UserMessage(text="the goal", pinned=True),
        AssistantMessage(text="", calls=(ToolCall(id="1", name="read", arguments='{"path": "x"}'),)),
        ToolMessage(call_id="1", name="read", text="y" * (TRACE_CUT + 7), origins=("tool:read",)),
        UserMessage(text="z" * (TRACE_CUT + 1)),
        AssistantMessage(text="the end", origins=("tool:read",)),
    )
    _, asked = trace_request(transcript).messages

    assert "secret" not in asked.text
    assert asked.text.startswith('Goal: the goal\n\n(used read with {"path": "x"})\n\nResult of read:\nyyy')
    assert TRACE_CUT == asked.text.count("y")
    assert "[… 7 characters cut]" in asked.text
    assert "[… 1 characters cut]" in asked.text
    assert asked.text.endswith("the end")
    assert ("tool:read",) == asked.origins


def test_what_no_model_wrote_is_the_results() -> None:
    """Without a writer the answer is what the steps found, under their names, and never empty."""
    results = {
        "a": Succeeded(step="a", output="found a"),
        "b": Failed(step="b", error="X", message="broken"),
        "c": Skipped(step="c", because_of="b", reason="b failed"),
        "d": Succeeded(step="d", output="found d"),
    }

    assert "## a\nfound a\n\n## d\nfound d" == unwritten(results)
    assert "No step gave a result." == unwritten({})


@pytest.mark.anyio
async def test_a_long_trace_fits_the_window() -> None:
    """Phase two of a long loop asks within the model's window, though each result alone is short enough."""
    results = [AssistantMessage(text="y" * 1500) for _ in range(50)]
    with ScriptedModel(["short", "the whole answer"], context_window=4096) as model:
        agent = ReActAgent(model)
        result = await agent.run("the goal", history=(UserMessage(text="before"), *results))
        async with aclosing(agent.stream_answer(result)) as pieces:
            shown = [piece async for piece in pieces]

    assert "the whole answer" == "".join(piece.text for piece in shown if isinstance(piece, TextPiece))
    assert request_tokens(model.requests[1].messages) <= 3072
