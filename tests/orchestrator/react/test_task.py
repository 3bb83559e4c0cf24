"""What one run is about."""

import pytest

from orchestrator.agent import ReActAgent
from orchestrator.react.task import Task
from registry.messages import AssistantMessage, SystemMessage, UserMessage
from registry.testing import ScriptedModel


def test_only_the_new_goal_is_pinned() -> None:
    """What was said before may be trimmed, pins of its own included; its system prompt is not taken over."""
    history = (SystemMessage(text="old"), UserMessage(text="before", pinned=True), AssistantMessage(text="so it was"))
    task = Task(goal="now", history=history, origins=("tool:read",))

    assert (
        UserMessage(text="before"),
        AssistantMessage(text="so it was"),
        UserMessage(text="now", pinned=True, origins=("tool:read",)),
    ) == task.messages


@pytest.mark.anyio
async def test_a_conversation_goes_on() -> None:
    """A transcript is a history: one system prompt, both goals, and only the new one is pinned."""
    with ScriptedModel(["Hello.", "As I said: hello."]) as model:
        agent = ReActAgent(model)
        first = await agent.run("greet me")
        await agent.run("again", history=first.transcript)

    system, goal, said, again = model.requests[1].messages
    assert (first.transcript[0], "greet me", "Hello.", "again") == (system, goal.text, said.text, again.text)
    assert [False, True] == [message.pinned for message in (goal, again) if isinstance(message, UserMessage)]
