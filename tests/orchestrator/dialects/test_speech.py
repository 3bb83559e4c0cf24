"""How an agent speaks in one run, and how when models can do less."""

from orchestrator.dialects import JsonDialect, Native
from orchestrator.dialects.speech import Speech
from registry.messages import Request, SystemMessage, ToolSpec, UserMessage
from registry.models.model import Abilities

SPEC = ToolSpec(name="add", description="Add.", parameters={"type": "object"})
ALL: Abilities = {"tool_call": True, "json_mode": True, "json_schema": True}


def speech(abilities: Abilities = ALL, *, specs: tuple[ToolSpec, ...] = (SPEC,), use_native_tools: bool = True) -> Speech:
    return Speech("Be brief.", specs, abilities, use_native_tools=use_native_tools)


def asked(spoken: Speech | None) -> Request:
    assert spoken is not None
    return spoken.dialect.request((UserMessage(text="go"),), (SPEC,))


def test_it_begins_as_richly_as_the_model_allows() -> None:
    """Native where the model can and the caller wants it; the opening explains what the dialect leaves to be explained."""
    assert isinstance(speech().dialect, Native)
    assert SystemMessage(text="Be brief.") == speech().opening

    for told in (speech({}), speech(use_native_tools=False)):
        assert isinstance(told.dialect, JsonDialect)
        assert told.opening.text.startswith("Be brief.\n\nYou can use these tools:\n- add: Add.")


def test_it_can_be_about_other_tools() -> None:
    """The same abilities and the same wish, and an opening that explains what there is now."""
    other = ToolSpec(name="sub", description="Subtract.", parameters={"type": "object"})
    humble = speech().without(["tool_call", "json_schema"])
    assert humble is not None
    about = humble.about((other,))

    assert "- sub: Subtract." in about.opening.text
    assert "- add:" not in about.opening.text
    wanted = asked(about).response_format
    assert wanted is not None
    assert wanted.schema is None


def test_it_does_without_what_is_lacking() -> None:
    """Each ability that is gone takes away its part of the request, and the caller's wish holds on."""
    without_calls = speech().without(["tool_call"])
    in_words = without_calls and without_calls.without(["json_schema", "json_mode"])

    assert ((), True) == (asked(without_calls).tools, asked(without_calls).response_format is not None)
    any_object = asked(speech().without(["tool_call", "json_schema"])).response_format
    assert any_object is not None
    assert any_object.schema is None
    assert asked(in_words).response_format is None
    assert () == asked(speech(use_native_tools=False).without(["json_schema", "json_mode"])).tools


def test_there_is_no_other_way_without_what_was_not_there() -> None:
    """To leave out what the model never had would be to ask the same again."""
    assert speech({"json_mode": True}).without(["tool_call"]) is None
    assert speech().without(["vision"]) is None
