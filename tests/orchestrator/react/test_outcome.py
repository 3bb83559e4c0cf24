"""What a loop came to."""

from orchestrator.react.outcome import AgentResult
from registry.messages import AssistantMessage, ToolMessage, UserMessage
from registry.usage import Usage


def test_it_carries_all_origins() -> None:
    """Whatever was read on the way to the answer is an origin of it."""
    transcript = (
        UserMessage(text="go", origins=("tool:b",)),
        ToolMessage(call_id="1", name="a", text="x", origins=("tool:a",)),
        AssistantMessage(text="done", origins=("tool:a", "tool:b")),
    )
    result = AgentResult(answer="done", outcome="completed", transcript=transcript, usage=Usage(), iterations=1)

    assert ("tool:a", "tool:b") == result.origins
