"""The answer of one agent, as it is streamed to the user."""

from collections.abc import AsyncGenerator

import pytest
from msgspec.structs import replace

from orchestrator.agent import ReActAgent
from orchestrator.errors import DeniedByHook
from orchestrator.hooks import Hook
from orchestrator.synthesis import CUT_OFF
from registry.calls import Call
from registry.errors import Unreachable
from registry.messages import Piece, Reply, Request, Reset, TextPiece
from registry.testing import CutAfter, FaultyModel, Line, ScriptedModel
from registry.tools.function import tool
from tests.orchestrator.react.dialects import BOTH, Spoken

pytestmark = pytest.mark.anyio


@tool(effect="pure")
async def long() -> str:
    """A long text."""
    return "ß" * 3_000


async def streamed(agent: ReActAgent, goal: str = "go", **options: int) -> list[Piece]:
    result = await agent.run(goal)
    return [piece async for piece in agent.stream_answer(result, **options)]


def shown(pieces: list[Piece]) -> str:
    """What the user has before their eyes in the end."""
    text = ""
    for piece in pieces:
        text = "" if isinstance(piece, Reset) else text + (piece.text if isinstance(piece, TextPiece) else "")
    return text


@BOTH
@pytest.mark.parametrize(("options", "chars"), [({}, 2_000), ({"result_chars": 100}, 100), ({"result_chars": 3_000}, 3_000)])
async def test_each_result_is_cut(spoken: Spoken, options: dict[str, int], chars: int) -> None:
    """To 2,000 characters or what is set, with a mark of how much is gone, in both dialects."""
    script = [spoken.call("long"), spoken.conclude("short"), "the answer"]
    with ScriptedModel(script, abilities=spoken.abilities) as model:
        await streamed(ReActAgent(model, [long]), **options)

    trace = model.requests[-1].messages[-1].text
    assert chars == trace.count("ß")
    assert (chars < 3_000) == (f"[… {3_000 - chars} characters cut]" in trace)


@BOTH
async def test_the_writer_is_asked_for_the_users_language(spoken: Spoken) -> None:
    """It is asked for a direct answer, in markdown, in the language of the goal, without a word on how it came about."""
    with ScriptedModel([spoken.conclude("kurz"), "lang"], abilities=spoken.abilities) as model:
        pieces = await streamed(ReActAgent(model, [long]), "Wie geht es?")

    system, trace = model.requests[-1].messages
    assert all(word in system.text for word in ("directly", "markdown", "language of the goal", "Do not mention steps, tools"))
    assert "Goal: Wie geht es?" in trace.text
    assert "lang" == shown(pieces)


class Odd:
    """A model that streams exactly these pieces."""

    def __init__(self, *pieces: Piece) -> None:
        self._inner, self._pieces = ScriptedModel(["short answer"]), pieces
        self.name, self.endpoint, self.abilities, self.context_window = "odd", "", self._inner.abilities, None

    async def chat(self, request: Request, call: Call) -> Reply:
        return await self._inner.chat(request, call)

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        for piece in self._pieces:
            yield piece


@pytest.mark.parametrize(
    ("pieces", "resets"),
    [
        pytest.param([], 0, id="nothing"),
        pytest.param([Reply(text="")], 0, id="an empty reply"),
        pytest.param([TextPiece("the who")], 1, id="no reply at the end"),
        pytest.param([TextPiece("I won't"), Reply(text="I won't", finish="refused")], 1, id="a refusal"),
        pytest.param([TextPiece("the"), Reset("again")], 1, id="nothing after a restart"),
    ],
)
async def test_what_is_no_answer_is_replaced(pieces: list[Piece], resets: int) -> None:
    """The loop's own answer is shown then, once, and what was shown before is void; nobody is told twice that it is."""
    told = await streamed(ReActAgent(Odd(*pieces)))

    assert "short answer" == shown(told)
    assert resets == sum(isinstance(piece, Reset) for piece in told)


@pytest.mark.parametrize("after", [0, 1, 2])
async def test_a_stream_that_breaks_off(after: int) -> None:
    """However much was shown, in the end the user sees the loop's answer and nothing twice."""
    model = FaultyModel(ScriptedModel(["short answer", "the whole answer"]), [None, CutAfter(after)])
    told = await streamed(ReActAgent(model))

    assert "short answer" == shown(told)
    assert bool(after) == any(isinstance(piece, Reset) for piece in told)


async def test_an_answer_that_was_cut_off_says_so() -> None:
    """The mark is part of the text, for those who watch and for those who read the reply."""
    cut: Line = Reply(text="The beginning", finish="length")
    with ScriptedModel(["short", cut]) as model:
        told = await streamed(ReActAgent(model))

    assert "The beginning" + CUT_OFF == shown(told)
    assert replace(cut, text="The beginning" + CUT_OFF) == told[-1]


async def test_there_is_always_something_to_read() -> None:
    """Where neither the loop nor the stream has an answer, the user reads why."""
    with ScriptedModel([Unreachable("x", "gone"), Unreachable("x", "still gone")]) as model:
        told = await streamed(ReActAgent(model))

    assert "There is no answer: x can't be reached: gone" == shown(told)


async def test_a_policy_may_stop_the_stream() -> None:
    """A piece that a policy refuses is not shown."""

    class Censor(Hook):
        async def on_stream(self, piece: Piece, call: Call) -> None:
            raise ValueError("not for your eyes")

    seen: list[Piece] = []
    with ScriptedModel(["short", "a secret"]) as model:
        agent = ReActAgent(model, hooks=Censor())
        result = await agent.run("go")
        with pytest.raises(DeniedByHook, match="not for your eyes"):
            seen.extend([piece async for piece in agent.stream_answer(result)])

    assert [] == seen
