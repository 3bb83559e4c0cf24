"""Asking the user as a tool."""

import pytest

from registry.builtin.asking import ask_user
from registry.calls import NO_CALL
from registry.messages import ToolCall
from registry.tools.calling import call_tool, due_arguments
from registry.tools.registry import ToolRegistry

pytestmark = pytest.mark.anyio


def test_its_traits() -> None:
    """A person answers it and is trusted; several are asked at once, and no second attempt at a step asks again."""
    traits = ask_user.traits

    assert (True, True, True, "keyed") == (traits.answered_by_user, traits.trusted, traits.side_by_side, traits.effect)
    assert {"question": "Which?"} == due_arguments(ask_user, '{"question": "Which?"}')


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        pytest.param('{"question": "Which?"}', "ToolFailed", "there is nobody here to answer 'Which?'", id="where nobody is"),
        pytest.param('{"question": " "}', "BadArguments", "question", id="a blank question"),
    ],
)
async def test_it_never_runs(arguments: str, error: str, text: str) -> None:
    """Called like any other tool it makes no answer up."""
    wanted = ToolCall(id="1", name="ask_user", arguments=arguments)
    seen = await call_tool(ToolRegistry([ask_user]), wanted, NO_CALL)

    assert error == seen.error
    assert text in seen.text
