"""Typed answers: which rung is asked, when it steps down, and what it all costs."""

from datetime import date

import anyio
import pytest
from msgspec.structs import replace
from pydantic import BaseModel, TypeAdapter

from registry.calls import Call
from registry.errors import (
    Garbled,
    NoTypedAnswer,
    Overloaded,
    Refused,
    Truncated,
    Unauthorized,
    Unreachable,
    WindowExceeded,
)
from registry.governor.fallback import FallbackModel
from registry.messages import Reply, SystemMessage, UserMessage
from registry.structured import structured_llm_call
from registry.structured.refusals import REMEMBERED, holds
from registry.testing import SCRIPTED_USAGE, ScriptedModel, asks, asks_many, says
from registry.usage import Usage

pytestmark = pytest.mark.anyio

CALL = Call(run="r", scope="verdict", purpose="verdict")
QUESTION = [SystemMessage(text="You judge."), UserMessage(text="Is it done?", origins=("tool:web",))]
SCHEMA = {"type": "object", "properties": {"done": {"type": "boolean"}}, "required": ["done"]}
GOOD, BAD, CUT = '{"done": true}', "I think so.", Reply(text='{"done": true}', finish="length", usage=SCRIPTED_USAGE)

FULL = {"tool_call": True, "json_mode": True}
JSON_ONLY = {"json_mode": True}
TOOLS_ONLY = {"tool_call": True}
NONE: dict[str, bool] = {}


class Judged(BaseModel):
    done: bool
    on: date | None = None


async def ask(model, schema=SCHEMA, **options):
    return await structured_llm_call(model, QUESTION, schema, CALL, **options)


@pytest.mark.parametrize(
    ("abilities", "script", "rung", "attempts"),
    [
        pytest.param(FULL, [asks("answer", done=True)], "native", 1, id="native"),
        pytest.param(FULL, [asks("functions.answer", done=True)], "native", 1, id="native-with-a-prefix"),
        pytest.param(FULL, [GOOD], "native", 1, id="native-answered-in-text"),
        pytest.param(FULL, [BAD, GOOD], "json", 2, id="json-after-native"),
        pytest.param(FULL, [BAD, BAD, GOOD], "json", 3, id="json-again"),
        pytest.param(FULL, [BAD, BAD, BAD, GOOD], "text", 4, id="text"),
        pytest.param(FULL, [BAD, BAD, BAD, BAD, GOOD], "text", 5, id="text-again"),
        pytest.param(FULL, [asks("answer", done="maybe"), GOOD], "json", 2, id="native-does-not-fit"),
        pytest.param(FULL, [asks("other", done=True), GOOD], "json", 2, id="another-tool"),
        pytest.param(
            FULL, [asks_many(("answer", {"done": True}), ("answer", {"done": False})), GOOD], "json", 2, id="two-answers"
        ),
        pytest.param(FULL, [f"```json\n{GOOD}\n```", GOOD], "json", 2, id="native-text-is-read-strictly"),
        pytest.param(JSON_ONLY, [f"```json\n{GOOD}\n```"], "json", 1, id="json-in-a-fence"),
        pytest.param({"json_schema": True}, [GOOD], "json", 1, id="schema-alone"),
        pytest.param(JSON_ONLY, [BAD, BAD, BAD, GOOD], "text", 4, id="json-only"),
        pytest.param(TOOLS_ONLY, [BAD, BAD, GOOD], "text", 3, id="tools-only"),
        pytest.param(NONE, [BAD, GOOD], "text", 2, id="text-only"),
        pytest.param(FULL, [CUT, GOOD], "json", 2, id="cut-is-a-failed-attempt"),
        pytest.param(FULL, [Truncated("m", "cut", usage=SCRIPTED_USAGE), GOOD], "json", 2, id="truncated-is-a-failed-attempt"),
        pytest.param(JSON_ONLY, [Reply(text="", reasoning=GOOD, usage=SCRIPTED_USAGE)], "json", 1, id="answer-in-the-reasoning"),
    ],
)
async def test_the_ladder(abilities, script, rung, attempts):
    """Each rung is asked as often as the contract says, and every reply is paid for."""
    with ScriptedModel(script, abilities=abilities) as model:
        result = await ask(model)

    assert {"done": True} == result.value == result.raw
    assert (rung, attempts) == (result.rung, result.attempts)
    assert Usage(requests=attempts, input_tokens=10 * attempts, output_tokens=5 * attempts) == result.usage


@pytest.mark.parametrize(("abilities", "replies"), [(FULL, 5), (JSON_ONLY, 4), (TOOLS_ONLY, 3), (NONE, 2)])
async def test_the_number_of_replies_is_bounded(abilities, replies):
    """After 5, 4, 3 or 2 replies it is over, and the error tells what each came to and what all cost."""
    with ScriptedModel([BAD] * replies, abilities=abilities) as model, pytest.raises(NoTypedAnswer) as raised:
        await ask(model, name="verdict")

    assert replies == len(raised.value.tried) == raised.value.usage.requests
    assert "text: there is no JSON value in the text" == raised.value.tried[-1]


@pytest.mark.parametrize("last", [CUT, '{"done": tr'])
async def test_two_cut_replies_in_a_row_end_it(last):
    """A third reply would be cut off as well: no more is spent on it, and the cut text is never sent back."""
    with ScriptedModel([CUT, last]) as model, pytest.raises(NoTypedAnswer, match=r"cut off|middle"):
        await ask(model)

    assert not any('{"done' in message.text for message in model.requests[1].messages[1:])


async def test_the_native_rung_forces_its_tool():
    """The schema goes out as the one tool that must be called, and the messages are left alone."""
    model = ScriptedModel([asks("verdict", done=True)])

    await ask(model, name="verdict", max_tokens=99)

    (request,) = model.requests
    assert ["verdict"] == [tool.name for tool in request.tools]
    assert SCHEMA == request.tools[0].parameters
    assert ("verdict", 99, None) == (request.tool_choice, request.max_tokens, request.response_format)
    assert tuple(QUESTION) == request.messages
    assert [CALL] == model.calls


@pytest.mark.parametrize(("abilities", "schema"), [(JSON_ONLY, None), ({"json_mode": True, "json_schema": True}, SCHEMA)])
async def test_the_json_rung_enforces_what_the_endpoint_can(abilities, schema):
    """The schema is enforced where the endpoint can, and told in words in any case."""
    model = ScriptedModel([GOOD], abilities=abilities)

    await ask(model)

    (request,) = model.requests
    assert schema == request.response_format.schema
    assert request.messages[0].text.startswith("You judge.")
    assert '"done"' in request.messages[0].text
    assert () == request.tools


async def test_the_text_rung_asks_in_words_alone():
    """Neither tools nor a format are sent; without a system message one is added."""
    model = ScriptedModel([GOOD], abilities=NONE)

    await structured_llm_call(model, QUESTION[1:], SCHEMA, CALL)

    (request,) = model.requests
    assert ((), None) == (request.tools, request.response_format)
    assert ["system", "user"] == [message.role for message in request.messages]
    assert '"done"' in request.messages[0].text


async def test_a_retry_quotes_the_wrong_reply_and_the_exact_error():
    """The model sees what it wrote and what is wrong with it; origins are kept."""
    model = ScriptedModel(['{"done": "maybe"}', GOOD], abilities=NONE)

    await ask(model)

    said, told = model.requests[1].messages[-2:]
    assert '{"done": "maybe"}' == said.text
    assert "done: 'maybe' is not of type 'boolean'" in told.text
    assert (("tool:web",), ("tool:web",)) == (said.origins, told.origins)
    assert ["system", "user", "assistant", "user"] == [message.role for message in model.requests[1].messages]


@pytest.mark.parametrize(
    "error",
    [
        Unauthorized("m", "no key"),
        Overloaded("m", "busy"),
        Unreachable("m", "gone"),
        WindowExceeded("m", "long"),
        Garbled("m", "html"),
        Refused("m", "max_tokens is too large", parameter="max_tokens"),
    ],
)
async def test_an_outage_is_not_a_reason_to_step_down(error):
    """Such errors pass, default or not, with the usage of the attempts before them."""
    model = ScriptedModel([BAD, error])

    with pytest.raises(type(error)) as raised:
        await ask(model, default_value=None)

    assert SCRIPTED_USAGE == raised.value.usage


@pytest.mark.parametrize(
    ("abilities", "refused", "rung"),
    [
        pytest.param(FULL, Refused("m", "no", parameter="tools"), "json", id="tools"),
        pytest.param(FULL, Refused("m", "tool_choice must be auto", status=400), "json", id="tool-choice"),
        pytest.param(JSON_ONLY, Refused("m", "no", parameter="response_format"), "text", id="format"),
    ],
)
async def test_a_refused_feature_is_not_a_reply_and_is_remembered(abilities, refused, rung):
    """The rung is skipped now and for an hour, and then tried again."""
    model = ScriptedModel([refused, GOOD, GOOD, refused, GOOD], abilities=abilities)

    first = await ask(model)
    second = await ask(model)
    await anyio.sleep(REMEMBERED + 1)
    third = await ask(model)

    assert [(rung, 1)] * 3 == [(result.rung, result.attempts) for result in (first, second, third)]
    model.assert_used_up()


@pytest.mark.parametrize(
    ("weak", "rung"),
    [
        pytest.param(JSON_ONLY, "json", id="no tools"),
        pytest.param(NONE, "text", id="nothing but words"),
    ],
)
async def test_a_rung_that_no_model_left_can_take_is_stepped_over(weak, rung):
    """When only weak models are left of several, they are asked in their way; the next attempt asks the strong one first."""
    strong = ScriptedModel([Unreachable("a", "gone"), asks("answer", done=True)], name="a", abilities=FULL)
    model = FallbackModel([strong, ScriptedModel([GOOD], name="b", abilities=weak)])

    results = [await structured_llm_call(model, QUESTION, SCHEMA, replace(CALL, attempt=attempt)) for attempt in (1, 2)]

    assert [(rung, 1), ("native", 1)] == [(result.rung, result.attempts) for result in results]


async def test_what_another_model_refused_is_not_held_against_the_first():
    """The refusal of a fallback's second model is remembered under its own name."""
    gone, refused = Unreachable("x", "gone"), Refused("x", "no", parameter="tools")
    first = ScriptedModel([gone, gone, asks("answer", done=True)], name="a", endpoint="x", abilities=FULL)
    second = ScriptedModel([refused, GOOD], name="b", endpoint="x", abilities=FULL)
    model = FallbackModel([first, second])

    results = [await structured_llm_call(model, QUESTION, SCHEMA, replace(CALL, attempt=attempt)) for attempt in (1, 2)]

    assert ["json", "native"] == [result.rung for result in results]
    assert holds(second, "native")


async def test_a_pydantic_model_gives_its_instance():
    """Values come back as their type, dates and all; the raw JSON is kept."""
    model = ScriptedModel([asks("answer", done=True, on="2026-01-02")])

    result = await ask(model, Judged)

    assert Judged(done=True, on=date(2026, 1, 2)) == result.value
    assert {"done": True, "on": "2026-01-02"} == result.raw


@pytest.mark.parametrize(
    ("abilities", "line"),
    [
        pytest.param(FULL, asks("answer", value=[1, 2]), id="native"),
        pytest.param(JSON_ONLY, '{"value": [1, 2]}', id="json"),
        pytest.param(JSON_ONLY, "[1, 2]", id="json-unboxed"),
        pytest.param(NONE, "[1, 2]", id="text"),
    ],
)
async def test_what_is_no_object_travels_in_a_box(abilities, line):
    """Tools and JSON mode need objects, so a list is asked for in the field of one, and taken out again."""
    assert [1, 2] == (await ask(ScriptedModel([line], abilities=abilities), TypeAdapter(list[int]))).value


async def test_parse_fn_maps_the_value_and_may_refuse_it():
    """Its error is quoted like any other fault."""

    def parse(value):
        if not value["done"]:
            raise ValueError("done must be true by now")
        return "yes"

    model = ScriptedModel(['{"done": false}', GOOD], abilities=NONE)

    result = await ask(model, parse_fn=parse)

    assert ("yes", {"done": True}) == (result.value, result.raw)
    assert "done must be true by now" in model.requests[1].messages[-1].text


async def test_the_regular_expression_is_asked_on_the_text_rung_only():
    """It sees what can't be read there, and what it finds is validated."""
    seen = []

    def find(text):
        seen.append(text)
        return {"done": True} if "certainly" in text else {"done": "perhaps"}

    model = ScriptedModel([BAD, BAD, "hm", "certainly"], abilities=JSON_ONLY)

    result = await ask(model, regex_fallback=find)

    assert ({"done": True}, "text") == (result.value, result.rung)
    assert ["hm", "certainly"] == seen


@pytest.mark.parametrize("default", [None, {"done": False}])
async def test_a_default_says_that_it_is_one(default):
    """Callers who can live without an answer get theirs, marked, with what was spent in vain."""
    result = await ask(ScriptedModel([BAD, BAD], abilities=NONE), default_value=default)

    assert (default, None, None, 2) == (result.value, result.raw, result.rung, result.attempts)
    assert SCRIPTED_USAGE + SCRIPTED_USAGE == result.usage


async def test_repairs_are_noted():
    """What had to be mended in the reply is told."""
    result = await ask(ScriptedModel([says("{'done': True}")], abilities=NONE))

    assert ("read as a Python literal",) == result.notes
