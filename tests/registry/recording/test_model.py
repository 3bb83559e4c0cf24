"""A recorded model answers as the real one did, without it."""

import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest

from registry.calls import NO_CALL
from registry.errors import ConfigurationError, ModelError, Overloaded, Truncated
from registry.messages import ReasoningPiece, Reply, Request, TextPiece, UserMessage
from registry.models.model import Model
from registry.recording import NotRecorded, RecordedModel
from registry.testing import CutAfter, Delay, FaultyModel, ScriptedModel, asks

pytestmark = pytest.mark.anyio

HELLO = Request(messages=(UserMessage(text="hello"),))
BYE = Request(messages=(UserMessage(text="bye"),))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "recorded" / "model.json"


def replies(path: Path) -> list[str]:
    """The texts of the replies in the file."""
    return [exchange["reply"]["text"] for exchange in json.loads(path.read_text())["exchanges"]]


async def streamed(model: Model, into: list[Any] | None = None) -> list[Any]:
    """All pieces, also where an error follows them."""
    shown = [] if into is None else into
    async with aclosing(model.stream_chat(HELLO, NO_CALL)) as pieces:
        async for piece in pieces:
            shown.append(piece)
    return shown


async def test_replies_are_replayed_without_the_model(path: Path) -> None:
    """Tool calls, texts and usage come back as they were, and the replay looks like the model that was recorded, but nowhere."""
    abilities = {"json_mode": True}
    script = ScriptedModel([asks("add", a=1), "Goodbye."], name="m", endpoint="x", abilities=abilities, context_window=99)
    async with RecordedModel(script, path) as model:
        first = [await model.chat(HELLO, NO_CALL), await model.chat(BYE, NO_CALL)]

    async with RecordedModel(None, path) as replay:
        again = [await replay.chat(HELLO, NO_CALL), await replay.chat(BYE, NO_CALL)]

    assert first == again
    assert ("x", "") == (model.endpoint, replay.endpoint)
    assert ("m", abilities, 99) == (replay.name, replay.abilities, replay.context_window)


async def test_equal_requests_are_answered_in_order(path: Path) -> None:
    """Each gets the reply that it got, and one too many is told so."""
    async with RecordedModel(ScriptedModel(["one", "two"]), path) as model:
        await model.chat(HELLO, NO_CALL)
        await model.chat(HELLO, NO_CALL)

    async with RecordedModel(None, path) as replay:
        assert ["one", "two"] == [(await replay.chat(HELLO, NO_CALL)).text for _ in range(2)]
        with pytest.raises(NotRecorded, match="recorded 2 times and came once more"):
            await replay.chat(HELLO, NO_CALL)


async def test_the_order_is_that_of_the_calls(path: Path) -> None:
    """Whichever reply comes first, the file has the requests as they were made."""
    slow_first = FaultyModel(ScriptedModel(lambda request: request.messages[0].text), [Delay(2.0), None])
    async with RecordedModel(slow_first, path) as model, anyio.create_task_group() as group:
        group.start_soon(model.chat, HELLO, NO_CALL)
        await anyio.wait_all_tasks_blocked()
        await model.chat(BYE, NO_CALL)
        assert ["bye"] == replies(path)

    assert ["hello", "bye"] == replies(path)


async def test_the_wait_for_a_slot_is_not_recorded(path: Path) -> None:
    """The caller learns of it, and a replay, which does not wait, tells of none."""
    async with RecordedModel(ScriptedModel([Reply(text="hi", waited=2.0)]), path) as model:
        assert 2.0 == (await model.chat(HELLO, NO_CALL)).waited

    assert Reply(text="hi") == await RecordedModel(None, path).chat(HELLO, NO_CALL)


async def test_a_stream_is_replayed_piece_by_piece(path: Path) -> None:
    """The same pieces in the same order, the whole reply last."""
    async with RecordedModel(ScriptedModel([Reply(text="Hello to you", reasoning="greet")]), path) as model:
        shown = await streamed(model)

    assert [ReasoningPiece("greet"), TextPiece("Hello "), TextPiece("to "), TextPiece("you")] == shown[:-1]
    assert shown == await streamed(RecordedModel(None, path))


async def test_errors_are_raised_again(path: Path) -> None:
    """A model's error is recorded as what came, and so is what a stream showed before it broke."""
    faults = [Overloaded("here", "busy", retry_after=3.0), CutAfter(2)]
    seen: list[Any] = []

    async def ask(model: Model) -> None:
        with pytest.raises(Overloaded) as busy:
            await model.chat(HELLO, NO_CALL)
        seen.append(busy.value)
        with pytest.raises(Truncated) as cut:
            await streamed(model, into=seen)
        seen.append(cut.value)

    async with RecordedModel(FaultyModel(ScriptedModel(["one two three"]), faults), path) as model:
        await ask(model)
    live, seen = seen, []
    await ask(RecordedModel(None, path))

    assert [repr(each) for each in live] == [repr(each) for each in seen]
    assert isinstance(seen[0], Overloaded)
    assert 3.0 == seen[0].retry_after
    assert [TextPiece("one "), TextPiece("two ")] == seen[1:3]


async def test_a_stream_that_was_left_can_be_left_again(path: Path) -> None:
    """Its pieces are replayed as far as they were read; whoever reads on is told."""
    async with (
        RecordedModel(ScriptedModel(["one two three"]), path) as model,
        aclosing(model.stream_chat(HELLO, NO_CALL)) as pieces,
    ):
        assert TextPiece("one ") == await anext(pieces)

    async with aclosing(RecordedModel(None, path).stream_chat(HELLO, NO_CALL)) as pieces:
        assert TextPiece("one ") == await anext(pieces)
        with pytest.raises(NotRecorded, match="was left after 1 pieces"):
            await anext(pieces)


async def test_an_unknown_request_names_the_nearest(path: Path) -> None:
    """The error says what came, what it differs in, and where; no layer takes it for a model's own."""
    async with RecordedModel(ScriptedModel(["hi"]), path) as model:
        await model.chat(HELLO, NO_CALL)

    with pytest.raises(NotRecorded, match=r"ending in \"bye\".*number 1, which differs in messages\[0\].text") as raised:
        await RecordedModel(None, path).chat(BYE, NO_CALL)

    assert not isinstance(raised.value, ModelError)
    assert BYE == raised.value.request
    assert str(path) in str(raised.value)


async def test_a_crash_loses_nothing(path: Path) -> None:
    """What was answered before the crash is in the file, and the next recording asks only for the rest."""
    crashed = RecordedModel(ScriptedModel(["hi"]), path)
    await crashed.chat(HELLO, NO_CALL)
    assert ["hi"] == replies(path)

    with ScriptedModel(["bye-bye"]) as script:
        async with RecordedModel(script, path) as model:
            said = [(await model.chat(request, NO_CALL)).text for request in (HELLO, BYE)]

    assert ["hi", "bye-bye"] == said
    assert "bye-bye" == (await RecordedModel(None, path).chat(BYE, NO_CALL)).text
    assert ["hi", "bye-bye"] == replies(path)


async def test_a_bug_is_not_recorded(path: Path) -> None:
    """An error that is no model's leaves nothing behind, streamed or not."""
    async with RecordedModel(ScriptedModel([]), path) as model:
        for asked in (model.chat(HELLO, NO_CALL), streamed(model)):
            with pytest.raises(AssertionError):
                await asked

    assert [] == replies(path)


async def test_recording_replaces_and_replaying_asks_nobody(path: Path) -> None:
    """`record` begins anew, `replay` leaves its model alone."""
    async with RecordedModel(ScriptedModel(["old"]), path) as model:
        await model.chat(HELLO, NO_CALL)
    async with RecordedModel(ScriptedModel(["new"], name="another"), path, mode="record") as model:
        await model.chat(BYE, NO_CALL)

    replay = RecordedModel(ScriptedModel([]), path, mode="replay")
    assert "new" == (await replay.chat(BYE, NO_CALL)).text
    with pytest.raises(NotRecorded):
        await replay.chat(HELLO, NO_CALL)


@pytest.mark.parametrize(
    ("content", "inner", "mode", "why"),
    [
        pytest.param(None, None, "auto", "no recording .* and no model to record", id="neither"),
        pytest.param(None, ScriptedModel([]), "replay", "no recording", id="nothing-to-replay"),
        pytest.param("{}", None, "record", "no model to record", id="nobody-to-record"),
        pytest.param("{}", None, "auto", "is no recording: its format is None", id="another-file"),
        pytest.param('{"format": 1}', None, "auto", "is no recording: .* missing required field `model`", id="parts-missing"),
        pytest.param(
            '{"format": 1, "model": "m", "abilities": {}, "context_window": null, "exchanges": []}',
            ScriptedModel([], name="another"),
            "auto",
            "records 'm', not 'another'",
            id="another-model",
        ),
    ],
)
def test_what_can_not_be_is_said_at_once(content, inner, mode, why, tmp_path: Path) -> None:
    """A recording that can be neither made nor played is a wrong setting, and the sentence names the file."""
    path = tmp_path / "model.json"
    if content is not None:
        path.write_text(content)

    with pytest.raises(ConfigurationError, match=why) as raised:
        RecordedModel(inner, path, mode=mode)

    assert "model.json" in str(raised.value)


def test_a_folder_is_no_recording(tmp_path: Path) -> None:
    """A file that can't be read is a wrong setting too."""
    with pytest.raises(ConfigurationError, match="can't be read"):
        RecordedModel(None, tmp_path)
