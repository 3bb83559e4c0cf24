"""One question to a model, however it is asked."""

import pytest

from orchestrator.hooks import Hook, as_one
from orchestrator.journalled import JournalledModel
from orchestrator.ledger import private_ledger
from orchestrator.react.asking import Asking
from registry.calls import Call
from registry.errors import ModelError, Truncated, Unreachable
from registry.messages import Piece, Reply, Request, TextPiece, UserMessage
from registry.models.model import Model
from registry.testing import SCRIPTED_USAGE, CutAfter, FaultyModel, ScriptedModel, says
from registry.usage import UNMETERED, Usage

pytestmark = pytest.mark.anyio

REQUEST = Request(messages=(UserMessage(text="go"),))


class Streams(Hook):
    """Streams every second iteration, and keeps what it heard."""

    def __init__(self) -> None:
        self.heard: list[Piece] = []

    async def should_stream(self, iteration: int) -> bool:
        return iteration == 2

    async def on_stream(self, piece: Piece, call: Call) -> None:
        self.heard.append(piece)


async def asking(model: Model, hook: Hook | None = None) -> Asking:
    return Asking(JournalledModel(model, await private_ledger()), as_one(hook))


async def test_it_streams_where_a_hook_wants_to_see_it() -> None:
    """The pieces go to the hook, and the reply is the same as without."""
    hook = Streams()
    room = await asking(ScriptedModel(["one", "one two"]), hook)

    assert says("one") == await room.reply(REQUEST, Call(iteration=1))
    assert [] == hook.heard
    assert says("one two") == await room.reply(REQUEST, Call(iteration=2))
    assert [TextPiece("one "), TextPiece("two")] == hook.heard


async def test_all_questions_count() -> None:
    """Usage and waiting add up, also of a question that failed."""
    waited = Reply(text="x", usage=SCRIPTED_USAGE, waited=1.5)
    room = await asking(ScriptedModel([waited, Unreachable("x", "gone", usage=UNMETERED), waited]))

    await room.reply(REQUEST, Call())
    with pytest.raises(Unreachable):
        await room.reply(REQUEST, Call())
    await room.reply(REQUEST, Call())

    assert (Usage() + SCRIPTED_USAGE + UNMETERED + SCRIPTED_USAGE, 3.0) == (room.usage, room.waited)


async def test_a_stream_that_breaks_off_is_an_error() -> None:
    """Pieces without a whole reply are none."""
    room = await asking(FaultyModel(ScriptedModel(["one two"]), [CutAfter(1)]), Streams())

    with pytest.raises(ModelError) as caught:
        await room.reply(REQUEST, Call(iteration=2))
    assert isinstance(caught.value, Truncated)
