"""The rungs, as data."""

import pytest

from registry.errors import Refused
from registry.structured.ladder import LADDER


@pytest.mark.parametrize(
    ("abilities", "rungs", "replies"),
    [
        ({"tool_call": True, "json_mode": True}, ["native", "json", "text"], 5),
        ({"json_schema": True}, ["json", "text"], 4),
        ({"tool_call": True}, ["native", "text"], 3),
        ({"tool_call": False}, ["text"], 2),
    ],
)
def test_abilities_choose_the_rungs(abilities, rungs, replies):
    """Each model gets the rungs that it can take, and so many replies in all."""
    suiting = [rung for rung in LADDER if rung.suits(abilities)]

    assert rungs == [rung.name for rung in suiting]
    assert replies == sum(rung.replies for rung in suiting)


@pytest.mark.parametrize(
    ("refusal", "rungs"),
    [
        pytest.param(Refused("m", "no", parameter="tool_choice"), ["native"], id="parameter"),
        pytest.param(Refused("m", "This model does not support Tools"), ["native"], id="sentence"),
        pytest.param(Refused("m", "response_format is not supported"), ["json"], id="format"),
        pytest.param(Refused("m", "messages must not be empty", parameter="messages"), [], id="something-else"),
    ],
)
def test_a_refusal_names_its_feature(refusal, rungs):
    """Only an error that names what a rung uses is a reason to leave that rung."""
    assert rungs == [rung.name for rung in LADDER if rung.is_named_by(refusal)]
