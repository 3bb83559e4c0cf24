"""The loop in both dialects: its limits, what it hears, what it is shown."""

import json

import pytest

from orchestrator.agent import ReActAgent
from orchestrator.errors import AgentStopped, DeniedByHook
from orchestrator.events.facts import PhaseBegan
from orchestrator.events.glimpses import ThinkingBegan
from orchestrator.hooks import Hook
from orchestrator.interrupts import INTERRUPT, InterruptQueue
from orchestrator.ledger import private_ledger
from orchestrator.prompts import LAST_WORD
from orchestrator.react.progress import NoProgress
from orchestrator.react.selection import MORE_TOOLS
from registry.calls import NO_CALL, Call
from registry.context import request_tokens
from registry.errors import ConfigurationError, Unreachable
from registry.messages import Message, Reply, Request, ToolCall
from registry.testing import SCRIPTED_USAGE, Line, ScriptedModel, asks, asks_many, says
from registry.tools.function import tool
from registry.tools.registry import ToolRegistry
from tests.orchestrator.react.dialects import BOTH, JSON, NATIVE, Spoken, acts, results, shown_tools
from tests.orchestrator.react.test_selection import many

pytestmark = pytest.mark.anyio


class Calls:
    """Tools that keep what they were called with."""

    def __init__(self) -> None:
        self.made: list[str] = []

        @tool(effect="pure")
        async def read(path: str) -> str:
            """Always the same."""
            self.made.append(f"read {path}")
            return "x"

        @tool(effect="pure")
        async def status() -> str:
            """Getting on."""
            self.made.append("status")
            return f"{10 * len(self.made)}%"

        @tool
        async def write(text: str) -> str:
            """Changes something."""
            self.made.append(f"write {text}")
            return f"{len(text)} characters"

        @tool(effect="pure")
        async def broken() -> str:
            """Always fails."""
            raise KeyError("x")

        self.tools = ToolRegistry([read, status, write, broken])


# No progress


@BOTH
async def test_the_same_call_again_and_again(spoken: Spoken) -> None:
    """Three run, the second and third with a warning; the fourth is refused, the fifth ends it, and a last word is had."""
    calls = Calls()
    model = ScriptedModel(
        lambda request: spoken.conclude("as far as I got") if len(model.requests) > 5 else spoken.call("read", path="h"),
        abilities=spoken.abilities,
    )
    result = await ReActAgent(model, calls.tools).run("go")

    assert ("exhausted", "as far as I got", 5) == (result.outcome, result.answer, result.iterations)
    assert ["read h"] * 3 == calls.made
    assert 6 == len(model.requests)
    seen = results(result.transcript)
    assert "x" == seen[0]
    assert seen[1].startswith("x\n\n[The same call has now given this same result 2 times.")
    assert seen[2].startswith("x\n\n[The same call has now given this same result 3 times. Another call like this will be")
    assert all("may not be called so: it gave the same result 3 times" in text for text in seen[3:])
    assert isinstance(result.error, NoProgress)


@BOTH
async def test_pairs_that_take_turns(spoken: Spoken) -> None:
    """Two calls that give the same in turn get nowhere either."""
    calls = Calls()

    def script(request: Request) -> Reply:
        nth = len(model.requests)
        return spoken.call("read", path="ab"[nth % 2]) if nth <= 9 else spoken.conclude("enough")

    model = ScriptedModel(script, abilities=spoken.abilities)
    result = await ReActAgent(model, calls.tools).run("go")

    assert ("exhausted", 9) == (result.outcome, result.iterations)
    assert 3 == calls.made.count("read a") == calls.made.count("read b")


@BOTH
async def test_polling_is_no_loop(spoken: Spoken) -> None:
    """The same call ten times is fine while its result changes, and no result carries a warning."""
    calls = Calls()
    with ScriptedModel([spoken.call("status")] * 10 + [spoken.conclude("done")], abilities=spoken.abilities) as model:
        result = await ReActAgent(model, calls.tools).run("go")

    assert ("completed", 10) == (result.outcome, len(calls.made))
    assert [f"{n}%" for n in range(10, 101, 10)] == results(result.transcript)


async def test_equal_calls_in_one_reply_are_one_round() -> None:
    """A model that asks for the same ten times at once gets it ten times, and has not gone round in circles."""
    calls = Calls()
    with ScriptedModel([asks_many(*[("read", {"path": "h"})] * 10), "done"]) as model:
        result = await ReActAgent(model, calls.tools).run("go")

    assert ("completed", ["x"] * 10) == (result.outcome, results(result.transcript))


async def test_a_refused_call_does_not_take_its_siblings_along() -> None:
    """What else the reply asks for runs, and a hook hears of the refusal as of any other outcome."""
    heard: list[str] = []

    class Listen(Hook):
        async def after_tool(self, observation, call):
            heard.append(f"{observation.name} {observation.error}")
            return observation

    calls = Calls()
    both = asks_many(("read", {"path": "h"}), ("status", {}))
    with ScriptedModel([asks("read", path="h")] * 3 + [both, "done"]) as model:
        result = await ReActAgent(model, calls.tools, hooks=Listen()).run("go")

    assert "completed" == result.outcome
    assert ["read ToolDenied", "status None"] == heard[-2:]


@BOTH
async def test_working_and_looking_is_progress(spoken: Spoken) -> None:
    """What a new effect may have changed is worth looking at again, though it looks the same."""
    calls = Calls()
    laps = [line for n in range(6) for line in (spoken.call("write", text="x" * n), spoken.call("read", path="h"))]
    with ScriptedModel([*laps, spoken.conclude("done")], abilities=spoken.abilities) as model:
        result = await ReActAgent(model, calls.tools).run("go")

    assert ("completed", 12) == (result.outcome, len(calls.made))


# The limit


@pytest.mark.parametrize("limit", [0, -1, True, "3", 2.0, None])
def test_the_limit_is_a_whole_number(limit: object) -> None:
    """Nothing that only looks like a number is taken for one."""
    with pytest.raises(ConfigurationError, match="max_iterations must be a whole number from 1"):
        ReActAgent(ScriptedModel([]), max_iterations=limit)  # type: ignore[arg-type]


@BOTH
async def test_the_last_word_passes_the_same_gate(spoken: Spoken) -> None:
    """The request after the limit is asked of the hooks and fits the window, like all others."""
    asked: list[int] = []

    class Gate(Hook):
        async def before_iteration(self, iteration, call):
            asked.append(iteration)

    @tool(effect="pure")
    async def long(n: int) -> str:
        """A long text."""
        return f"{n} " * 4_000

    script = [*(spoken.call("long", n=n) for n in range(3)), spoken.conclude("so far")]
    with ScriptedModel(script, abilities=spoken.abilities, context_window=4_096) as model:
        result = await ReActAgent(model, [long], hooks=Gate(), max_iterations=3).run("go")

    assert ("exhausted", "so far", 3) == (result.outcome, result.answer, result.iterations)
    assert [1, 2, 3, 4] == asked
    assert all(request_tokens(request.messages, request.tools) <= 3_072 for request in model.requests)
    assert any(LAST_WORD in message.text for message in model.requests[-1].messages)


async def test_a_policy_may_deny_the_last_word() -> None:
    """Then there is none, and the answer says what ran, what failed and why there is no more."""

    class Strict(Hook):
        async def before_iteration(self, iteration, call):
            if iteration > 2:
                raise RuntimeError("two are enough")

    calls = Calls()
    with ScriptedModel([asks_many(("read", {"path": "h"}), ("read", {"path": "i"}), ("broken", {})), asks("status")]) as model:
        result = await ReActAgent(model, calls.tools, hooks=Strict(), max_iterations=2).run("go")

    assert "exhausted" == result.outcome
    assert "two are enough" in result.answer
    assert "Tools that ran: read (2 times), status." in result.answer
    assert "Tools that failed: broken (ToolFailed)." in result.answer


@pytest.mark.parametrize(
    ("line", "said"),
    [
        pytest.param("", "the model gave none", id="nothing"),
        pytest.param(asks("status"), "the model gave none", id="one more call"),
        pytest.param(Reply(text="It is up.", calls=(ToolCall(id="1", name="status", arguments="{}"),)), "It is up.", id="both"),
        pytest.param(Unreachable("x", "gone"), "gone", id="an outage"),
    ],
)
async def test_a_last_word_that_is_none(line: Line, said: str) -> None:
    """A model that goes on asking for tools gets none; what it says counts, and else what is known of the tools."""
    calls = Calls()
    with ScriptedModel([Reply(text="Let me see.", calls=asks("read", path="h").calls), line]) as model:
        result = await ReActAgent(model, calls.tools, max_iterations=1).run("go")

    assert "exhausted" == result.outcome
    assert said in result.answer
    assert ("Let me see." in result.answer) == ("It is up." not in result.answer)
    assert ["read h"] == calls.made


async def test_an_empty_turn_after_the_answer() -> None:
    """Where a model said something beside its calls and then no more, that is what there is, and it is said to be no answer."""
    said = Reply(text="The disk is full.", calls=asks("status").calls, usage=SCRIPTED_USAGE)
    with ScriptedModel([said, *[""] * 6]) as model:
        result = await ReActAgent(model, Calls().tools).run("go")

    assert ("empty", "The disk is full.") == (result.outcome, result.answer)
    assert isinstance(result.error, AgentStopped)
    assert "in an earlier turn" in str(result.error)


@BOTH
async def test_an_iteration_that_comes_to_nothing_is_noted(spoken: Spoken) -> None:
    """The model reads so in the next one; only two in a row end the loop."""
    nothing: list[Line] = ["", "", ""]
    calls = Calls()
    script = [*nothing, spoken.call("status"), *nothing, spoken.conclude("done")]
    with ScriptedModel(script, abilities=spoken.abilities) as model:
        result = await ReActAgent(model, calls.tools).run("go")

    assert ("completed", "done", 4) == (result.outcome, result.answer, result.iterations)
    assert 2 == sum(message.text.startswith("You have not answered.") for message in result.transcript)


async def test_an_empty_final_answer_is_empty() -> None:
    """An object that holds no answer is no answer."""
    with ScriptedModel([JSON.conclude(""), JSON.conclude("yes")], abilities=JSON.abilities) as model:
        mended = await ReActAgent(model, Calls().tools).run("go")
    with ScriptedModel([JSON.conclude(" ")] * 2, abilities=JSON.abilities) as model:
        empty = await ReActAgent(model, Calls().tools).run("go")

    assert [("completed", "yes"), ("empty", "")] == [(each.outcome, each.answer) for each in (mended, empty)]


# What the user says meanwhile


def kinds(messages: tuple[Message, ...]) -> list[str]:
    """The messages after the goal, each by what it is."""
    return [
        "interrupt" if message.text.startswith(INTERRUPT) else "result" if getattr(message, "call_id", "") else message.role
        for message in messages[2:]
    ]


@pytest.mark.parametrize(
    ("spoken", "order"),
    [
        pytest.param(NATIVE, ["assistant", "result", "interrupt", "assistant"], id="native"),
        pytest.param(JSON, ["assistant", "interrupt", "result", "assistant"], id="json"),
    ],
)
async def test_where_a_message_stands(spoken: Spoken, order: list[str]) -> None:
    """Native: never between a call and its results. Json: right after the reply."""
    queue = InterruptQueue()

    def script(request: Request) -> Reply:
        if len(model.requests) == 1:
            queue.put("hurry")
            return spoken.call("read", path="h")
        return spoken.conclude("done")

    model = ScriptedModel(script, abilities=spoken.abilities)
    result = await ReActAgent(model, Calls().tools, interrupts=queue).run("go")

    assert order == kinds(result.transcript)


@BOTH
async def test_a_message_in_the_last_iteration_gets_its_turn(spoken: Spoken) -> None:
    """The answer that was pending is suppressed, and there is one more iteration to answer in."""
    queue = InterruptQueue()

    def script(request: Request) -> Reply:
        if len(model.requests) == 1:
            queue.put("in French")
            return spoken.conclude("Hello")
        return spoken.conclude("Bonjour")

    model = ScriptedModel(script, abilities=spoken.abilities)
    result = await ReActAgent(model, Calls().tools, interrupts=queue, max_iterations=1).run("greet")

    assert ("completed", "Bonjour", 2, ()) == (result.outcome, result.answer, result.iterations, result.unanswered)


@BOTH
async def test_a_message_during_the_last_tool_gets_its_turn(spoken: Spoken) -> None:
    """It makes no difference whether it came while the model or a tool was at work."""
    queue = InterruptQueue()

    @tool(effect="pure")
    async def slow() -> str:
        """Takes a while."""
        queue.put("hurry")
        return "there"

    with ScriptedModel([spoken.call("slow"), spoken.conclude("done")], abilities=spoken.abilities) as model:
        result = await ReActAgent(model, [slow], interrupts=queue, max_iterations=1).run("go")

    assert ("completed", "done", ()) == (result.outcome, result.answer, result.unanswered)


@pytest.mark.parametrize(
    "line",
    [pytest.param(says("so far"), id="during the last word"), pytest.param(Unreachable("x", "gone"), id="before an outage")],
)
async def test_a_message_that_comes_too_late_is_returned(line: Line) -> None:
    """What no reply could take into account any more is in the result, and not lost."""
    queue = InterruptQueue()

    def script(request: Request) -> Line:
        if len(model.requests) == 1:
            return asks("status")
        queue.put("one more thing")
        return line

    model = ScriptedModel(script)
    result = await ReActAgent(model, Calls().tools, interrupts=queue, max_iterations=1).run("go")

    assert ("exhausted", ("one more thing",)) == (result.outcome, result.unanswered)


@BOTH
async def test_a_resumed_agent_asks_the_same(spoken: Spoken) -> None:
    """Each message stands where it stood, so every reply is found again, however many came later."""
    queue, ledger, call = InterruptQueue(), await private_ledger(), Call(scope="step/x")

    def script(request: Request) -> Reply:
        nth = len(model.requests)
        queue.put(f"message {nth}")
        return spoken.call("read", path=str(nth)) if nth < 3 else spoken.conclude("done")

    model = ScriptedModel(lambda request: script(request) if len(model.requests) < 4 else spoken.conclude("done"))
    model.abilities = spoken.abilities
    agent = ReActAgent(model, Calls().tools, interrupts=queue)
    first = await agent.run("go", ledger=ledger, call=call)
    queue.put("much later")
    ledger.rewind("step/x")
    again = await agent.run("go", ledger=ledger, call=call)

    assert first.transcript == again.transcript[: len(first.transcript)]
    assert 5 == len(model.requests), "only the message that came later needs another reply"
    assert "[USER INTERRUPT]\nmuch later" == again.transcript[-2].text


# Tools


@BOTH
async def test_of_many_tools_a_choice_is_shown(spoken: Spoken) -> None:
    """The model sees what was chosen, and the run tells so once."""
    ledger = await private_ledger()
    script = [_chosen(spoken, "tool3", "tool5"), spoken.call("tool3"), spoken.conclude("done")]
    with ScriptedModel(script, abilities=spoken.abilities) as model:
        result = await ReActAgent(model, many(13)).run("go", ledger=ledger)

    assert ("completed", ["tool3"]) == (result.outcome, results(result.transcript))
    assert 3 == result.usage.requests
    assert [PhaseBegan(phase="selecting_tools", total_tools=13)] == [
        recorded.event for recorded in ledger.facts if isinstance(recorded.event, PhaseBegan)
    ]
    for request in model.requests[1:]:
        assert ["tool3", "tool5", MORE_TOOLS] == shown_tools(request)


@BOTH
async def test_more_tools_on_request(spoken: Spoken) -> None:
    """What was asked for is there from the next lap on; the prompts change then, and at no other time."""
    script = [
        _chosen(spoken, "tool3"),
        spoken.call("tool9"),
        spoken.call(MORE_TOOLS, names=["tool9", "tool8"]),
        spoken.call("tool9"),
        spoken.call("tool8"),
        spoken.conclude("done"),
    ]
    with ScriptedModel(script, abilities=spoken.abilities) as model:
        result = await ReActAgent(model, many(13)).run("go")

    assert "completed" == result.outcome
    seen = results(result.transcript)
    assert f"no tool named 'tool9'; there are: {MORE_TOOLS}, tool3" in seen[0].replace("did you mean 'tool3'? ", "")
    assert ["tool9", "tool8"] == seen[2:]
    _, *laps = model.requests
    assert [["tool3", MORE_TOOLS]] * 2 + [["tool3", MORE_TOOLS, "tool9", "tool8"]] * 3 == [shown_tools(lap) for lap in laps]
    assert 2 == len({(lap.messages[0], lap.tools) for lap in laps})


async def test_a_resumed_agent_has_the_same_tools() -> None:
    """Neither the choice nor the request for more is made again, nor is it told again that there was one."""
    ledger, call = await private_ledger(), Call(scope="step/x")
    script = [_chosen(NATIVE, "tool3"), asks(MORE_TOOLS, names=["tool9"]), asks("tool9"), "done"]
    with ScriptedModel(script) as model:
        agent = ReActAgent(model, many(13))
        first = await agent.run("go", ledger=ledger, call=call)
        ledger.rewind("step/x")
        again = await agent.run("go", ledger=ledger, call=call)

    assert first.transcript == again.transcript
    assert 1 == sum(isinstance(recorded.event, PhaseBegan) for recorded in ledger.facts)
    assert [] == ledger.state.phases, "it is no turn of the run"


def _chosen(spoken: Spoken, *names: str) -> Reply:
    return asks("tools", tools=list(names)) if spoken is NATIVE else says(json.dumps({"tools": list(names)}))


# Known faults of comparable engines


async def test_ten_calls_at_once() -> None:
    """None of ten results is lost on the way, and all ten are in the synthesis."""

    @tool(effect="pure")
    async def look(n: int) -> str:
        """Look at one."""
        return f"result number {n}"

    with ScriptedModel([asks_many(*(("look", {"n": n}) for n in range(10))), "short", "long"]) as model:
        agent = ReActAgent(model, [look])
        result = await agent.run("go")
        pieces = [piece async for piece in agent.stream_answer(result)]

    wanted = [f"result number {n}" for n in range(10)]
    assert wanted == results(result.transcript)
    assert all(each in model.requests[-1].messages[-1].text for each in wanted)
    assert pieces


@pytest.mark.parametrize("written", ["null", "[1, 2]", '"a string"', "7", "true", '{"path": null}', "{"])
async def test_arguments_that_are_none_are_an_observation(written: str) -> None:
    """Whatever the arguments decode to, the model reads what is wrong, and nothing runs."""
    calls = Calls()
    wanted = Reply(calls=(ToolCall(id="1", name="read", arguments=written),), finish="tool_calls")
    with ScriptedModel([wanted, "done"]) as model:
        result = await ReActAgent(model, calls.tools).run("go")

    assert ("completed", []) == (result.outcome, calls.made)
    assert "wrong arguments for 'read'" in results(result.transcript)[0]


@pytest.mark.parametrize("written", ["null", "[1, 2]", '"a string"', "7", "true", '{"path": null}'])
async def test_arguments_that_are_none_are_one_in_json_too(written: str) -> None:
    """The other dialect reads them by the same rules; null there stands for none at all."""
    calls = Calls()
    with ScriptedModel([acts("read", written), JSON.conclude("done")], abilities=JSON.abilities) as model:
        result = await ReActAgent(model, calls.tools).run("go")

    assert ("completed", []) == (result.outcome, calls.made)
    assert "wrong arguments for 'read'" in results(result.transcript)[0]


@BOTH
async def test_false_in_quotes_is_not_true(spoken: Spoken) -> None:
    """A word is no truth value, neither for a tool nor for a hook that is asked for one."""
    given: list[bool] = []

    @tool(effect="pure")
    async def send(really: bool) -> str:
        """Send it."""
        given.append(really)
        return "sent"

    class Words(Hook):
        async def should_stream(self, iteration):
            return "false"

        async def on_stream(self, piece, call):
            raise AssertionError("nothing streams")

    with ScriptedModel([spoken.call("send", really="false"), spoken.conclude("no")], abilities=spoken.abilities) as model:
        result = await ReActAgent(model, [send], hooks=Words()).run("go")

    assert True not in given
    assert "completed" == result.outcome


async def test_a_policy_that_denies_an_iteration_ends_the_loop() -> None:
    """And that is no success."""

    class Never(Hook):
        async def before_iteration(self, iteration, call):
            raise RuntimeError("not today")

    result = await ReActAgent(ScriptedModel([]), hooks=Never()).run("go")

    assert ("failed", DeniedByHook) == (result.outcome, type(result.error))


async def test_each_question_is_announced() -> None:
    """Watchers hear before each model call of the loop, the last word included."""
    ledger = await private_ledger()
    with ScriptedModel([asks("status"), "so far"]) as model:
        await ReActAgent(model, Calls().tools, max_iterations=1).run("go", ledger=ledger, call=NO_CALL)

    ledger.telling.end()
    told = [recorded.event.iteration async for recorded in ledger.telling.watch() if isinstance(recorded.event, ThinkingBegan)]
    assert [1, 2] == told
