"""Errors say what, which, and what there is."""

from decimal import Decimal

import pytest

from registry.errors import (
    BadArguments,
    CircuitOpen,
    DagwrightError,
    Garbled,
    ModelError,
    NoTypedAnswer,
    OverBudget,
    Overloaded,
    Refused,
    ToolDenied,
    ToolError,
    ToolFailed,
    ToolTimedOut,
    Truncated,
    TryAgain,
    Unable,
    Unauthorized,
    UnknownModel,
    UnknownTool,
    Unpriced,
    Unreachable,
    WindowExceeded,
    there_are,
)
from registry.usage import Usage


@pytest.mark.parametrize(
    ("error", "family", "sentence"),
    [
        (
            UnknownTool("serch", ["search", "add"]),
            ToolError,
            "no tool named 'serch'; did you mean 'search'? there are: add, search",
        ),
        (UnknownModel("big", []), DagwrightError, "no model or role named 'big'; there are: none"),
        (Unreachable("here", "no route"), ModelError, "here can't be reached: no route"),
        (Unable(("tool_call",), ("a", "b")), Unreachable, "a model with tool_call can't be reached: it is lacking in a, b"),
        (
            Unable(("json_schema", "json_mode"), ("b",), last=Unauthorized("here", "bad key")),
            ModelError,
            "a model with json_schema or json_mode can't be reached: it is lacking in b; the last one asked: "
            "here did not accept the credentials: bad key",
        ),
        (Overloaded("here", "busy", retry_after=2.5), ModelError, "here is overloaded: busy; it asks to wait 2.5 s"),
        (Overloaded("here", "busy"), ModelError, "here is overloaded: busy"),
        (CircuitOpen("here", 1.25), Unreachable, "here can't be reached: it keeps failing, and is asked again in 1.25 s"),
        (
            OverBudget("the run", "cost", left=Decimal("0.2"), wanted=Decimal("0.3")),
            ModelError,
            "the budget of the run has 0.2 dollars left, and the request may take 0.3",
        ),
        (OverBudget("step 'a'", "seconds", left=0), ModelError, "the budget of step 'a' has 0 seconds left"),
        (
            Unpriced("openai:mine"),
            ModelError,
            "nobody knows what 'openai:mine' charges, and money is limited: give it a price, or allow unpriced models",
        ),
        (Refused("here", "no", parameter="seed"), ModelError, "here refused the request (parameter 'seed'): no"),
        (Unauthorized("here", "bad key"), ModelError, "here did not accept the credentials: bad key"),
        (WindowExceeded("here", "9 of 8"), ModelError, "here can't take so long a request: 9 of 8"),
        (Truncated("here", "cut"), ModelError, "here stopped in the middle of its reply: cut"),
        (Garbled("here", "HTML"), ModelError, "here answered with something unreadable: HTML"),
        (NoTypedAnswer("plan", ("a", "b"), usage=Usage()), ModelError, "no valid plan after 2 replies; the last one: b"),
        (BadArguments("add", "a is missing"), ToolError, "wrong arguments for 'add': a is missing"),
        (ToolFailed("add", "boom"), ToolError, "'add' failed: boom"),
        (TryAgain("with two numbers"), ToolError, "try again: with two numbers"),
        (ToolTimedOut("add", 3.0), ToolError, "'add' did not answer within 3 s"),
        (ToolDenied("add", "not today"), ToolError, "'add' may not be called so: not today"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_a_constructor_builds_the_sentence(error: DagwrightError, family: type[DagwrightError], sentence: str) -> None:
    """Facts go in, a sentence comes out, and the error belongs to the family that one handler answers."""
    assert sentence == str(error)
    assert isinstance(error, family)


def test_what_a_failed_attempt_cost_is_kept() -> None:
    """A model error carries the usage of the attempt, nothing when nobody said."""
    assert Usage(requests=1) == Truncated("here", "cut", usage=Usage(requests=1)).usage
    assert Usage() == Garbled("here", "HTML").usage


def test_nothing_is_near() -> None:
    """A name that resembles none gets no suggestion, only the list."""
    assert "there are: add, search" == there_are("xyz", ["search", "add"])
