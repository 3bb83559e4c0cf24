"""Public faults of kind D, the loop of an agent: each case stands for its kind.

A case that has `deviates` goes by this engine's own rules in that point, for the reason that stands there.
"""

import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from itertools import accumulate, pairwise, permutations
from pathlib import Path

import anyio
import pytest

from orchestrator import MemoryJournal, Orchestrator
from orchestrator.agent import UNPARSED, ReActAgent
from orchestrator.answering import cancel, decide
from orchestrator.compacting import NothingGained
from orchestrator.errors import AgentStopped, RunCancelled
from orchestrator.events.facts import ToolEnded, ToolStarted
from orchestrator.hooks import Hook
from orchestrator.react.progress import NoProgress
from planner import Plan, Step, ToolStep
from planner.results import Failed
from registry.context import ContextGuard, request_tokens
from registry.errors import ConfigurationError, WindowExceeded
from registry.messages import AssistantMessage, Json, Message, Reply, Request, SystemMessage, ToolCall, ToolMessage, UserMessage
from registry.testing import SCRIPTED_USAGE, ScriptedModel, asks, asks_many, says
from registry.tools.function import FunctionTool, tool
from registry.wire.legal import legal
from tests.orchestrator.react.dialects import BOTH, JSON, NATIVE, Spoken, acts, results

pytestmark = pytest.mark.anyio

CASES: Mapping[str, Mapping[str, Json]] = {
    case["id"]: case for case in map(json.loads, (Path(__file__).parent / "data" / "kind_d.jsonl").read_text().splitlines())
}

_asserted: set[str] = set()


def case(case_id: str) -> pytest.MarkDecorator:
    """The test of one case, under its name: the case says what went in and what is right."""
    _asserted.add(case_id)
    return pytest.mark.parametrize("case", [pytest.param(CASES[case_id], id=case_id)])


def test_every_case_is_asserted() -> None:
    """No case is forgotten."""
    assert CASES.keys() == _asserted


def noting(*names: str) -> tuple[list[FunctionTool[..., str]], list[str]]:
    """Tools that take nothing, or anything, and the list in which they note that they ran."""
    ran: list[str] = []

    def made(name: str) -> FunctionTool[..., str]:
        async def work(q: str = "") -> str:
            """Does its work."""
            ran.append(name)
            return f"{name} worked"

        return FunctionTool(work, name=name, effect="pure")

    return [made(name) for name in names], ran


def replies(case: Mapping[str, Json], spoken: Spoken = NATIVE) -> list[Reply]:
    """What the model of a case says, turn by turn. The Json dialect has one call to a turn."""
    return [reply for turn in case["input"]["turns"] for reply in _turn(turn, spoken)]


def _turn(turn: Mapping[str, Json], spoken: Spoken) -> list[Reply]:
    calls = turn.get("calls", ())
    if not calls:
        return [spoken.conclude(turn["text"])]
    if spoken is JSON:
        return [acts(call["name"], call["arguments"]) for call in calls]
    asked = tuple(ToolCall(id=call["id"], name=call["name"], arguments=call["arguments"]) for call in calls)
    return [Reply(text=turn.get("text", ""), calls=asked, finish="tool_calls", usage=SCRIPTED_USAGE)]


def observed(request: Request) -> dict[str, str]:
    """What the model reads of each call, by its id and in its order."""
    return {message.call_id: message.text for message in request.messages if isinstance(message, ToolMessage)}


@BOTH
@case("D01")
async def test_an_unknown_tool(case: Mapping[str, Json], spoken: Spoken) -> None:
    """The model reads which tools there are, and the loop goes on to its answer."""
    tools, ran = noting(*case["input"]["tools"])
    with ScriptedModel(replies(case, spoken), abilities=spoken.abilities) as model:
        result = await ReActAgent(model, tools).run("What day is it?")

    assert ("completed", "It is Monday.", []) == (result.outcome, result.answer, ran)
    assert ["no tool named 'get_clock'; there are: add, search"] == results(result.transcript)


@BOTH
@case("D03")
async def test_names_with_noise(case: Mapping[str, Json], spoken: Spoken) -> None:
    """A provider's prefix makes no difference, to a policy neither; whatever else is near is suggested, and does not run."""
    asked: list[str] = []

    class Policy(Hook):
        async def before_tool(self, wanted, call):
            asked.append(wanted.name)
            return wanted

    tools, ran = noting(*case["input"]["tools"])
    script = [*(spoken.call(name) for name in case["input"]["names"]), spoken.conclude("done")]
    with ScriptedModel(script, abilities=spoken.abilities) as model:
        result = await ReActAgent(model, tools, hooks=Policy()).run("go")

    prefixed, *others = results(result.transcript)
    assert ("web_search worked", ["web_search"]) == (prefixed, ran)
    assert "web_search" == asked[0]
    for text, meant in zip(others, ["web_search", "web_search", "write-file", None], strict=True):
        assert text.startswith("no tool named")
        assert meant is None or f"did you mean {meant!r}?" in text


@BOTH
@pytest.mark.parametrize("padding", [0, 500])
@case("D04")
async def test_arguments_inside_the_name(case: Mapping[str, Json], padding: int, spoken: Spoken) -> None:
    """There is no such tool, nothing is guessed, and a long name is told in short."""
    tools, ran = noting(*case["input"]["tools"])
    name = " " * padding + case["input"]["turns"][0]["calls"][0]["name"]
    name = name.replace("north", "north" + "x" * padding)
    with ScriptedModel([spoken.call(name), spoken.conclude("ok")], abilities=spoken.abilities) as model:
        result = await ReActAgent(model, tools).run("go")

    (told,) = results(result.transcript)
    assert ("completed", []) == (result.outcome, ran)
    assert 'no tool named \'{"zone": "north' in told
    assert "there are: find_docs" in told
    assert len(told) < 200


@case("D05")
async def test_results_do_not_shift(case: Mapping[str, Json]) -> None:
    """Three calls, one of them unknown: three results, each under its own id."""
    tools, _ = noting(*case["input"]["tools"])
    with ScriptedModel([*replies(case), "done"]) as model:
        await ReActAgent(model, tools).run("go")

    seen = observed(model.requests[-1])
    assert ["c1", "c2", "c3"] == list(seen)
    assert ("a worked", "b worked") == (seen["c1"], seen["c3"])
    assert "no tool named 'nope'" in seen["c2"]


@BOTH
@case("D06")
async def test_the_same_call_for_ever(case: Mapping[str, Json], spoken: Spoken) -> None:
    """However its arguments are written: six model calls at most, and an answer of what there is."""
    ran: list[str] = []

    @tool(effect="pure")
    async def read(path: str, limit: int) -> str:
        """Always the same."""
        ran.append(path)
        return "x"

    orders = [{"path": "h", "limit": 50}, {"limit": 50, "path": "h"}]

    def script(request: Request) -> Reply:
        nth = len(model.requests)
        return spoken.conclude("There is only x.") if nth > 5 else spoken.call("read", **orders[nth % 2])

    model = ScriptedModel(script, abilities=spoken.abilities)
    result = await ReActAgent(model, [read], max_iterations=case["input"]["max_steps"]).run("go")

    assert ("exhausted", "There is only x.", 6, 3) == (result.outcome, result.answer, len(model.requests), len(ran))
    assert isinstance(result.error, NoProgress)
    assert 2 == sum("has now given this same result" in text for text in results(result.transcript))


@BOTH
@case("D08")
async def test_polling_is_not_a_loop(case: Mapping[str, Json], spoken: Spoken) -> None:
    """Ten equal calls with ten results are honest work; three in one turn are one round."""
    polled: list[int] = []

    @tool(effect="pure")
    async def job_status() -> str:
        """How far it is."""
        polled.append(10)
        return f"{sum(polled)}%"

    assert {"job_status": "returns 10%, 20%, ... 100%"} == case["input"]["tools"]
    script = [*[spoken.call("job_status")] * 10, spoken.conclude("finished")]
    with ScriptedModel(script, abilities=spoken.abilities) as model:
        result = await ReActAgent(model, [job_status]).run("wait for it")

    assert ("completed", "finished", 10) == (result.outcome, result.answer, len(polled))


@case("D08")
async def test_three_equal_calls_in_one_turn(case: Mapping[str, Json]) -> None:
    """They are one round, so the next such turn is not refused."""
    tools, ran = noting("job_status")
    thrice = Reply(calls=tuple(ToolCall(id=f"c{n}", name="job_status", arguments="{}") for n in range(3)))
    assert "ONE turn" in case["right"]
    with ScriptedModel([thrice, thrice, thrice, "finished"]) as model:
        result = await ReActAgent(model, tools).run("wait for it")

    assert ("completed", 9) == (result.outcome, len(ran))


@case("D17")
async def test_the_answer_beside_a_call(case: Mapping[str, Json]) -> None:
    """What was said beside the last call is not lost when nothing more comes; but it is not called a success."""
    ran: list[bool] = []

    @tool
    async def todo(done: bool) -> str:
        """Tick it off."""
        ran.append(done)
        return "ticked"

    said, empty = replies(case)
    with ScriptedModel([said, *[empty] * 6]) as model:
        result = await ReActAgent(model, [todo]).run("What is wrong?")

    assert ("empty", "## Summary\nDisk full on n7.", [True]) == (result.outcome, result.answer, ran)
    assert isinstance(result.error, AgentStopped)
    assert "what it said in an earlier turn stands in its place" in str(result.error)


@BOTH
@case("D19")
async def test_no_answer_within_the_limit(case: Mapping[str, Json], spoken: Spoken) -> None:
    """One last request without tools; what there is is kept, with what it cost."""
    tools, ran = noting("look")
    limit = case["input"]["max_steps"]
    script = [*(spoken.call("look", q=str(n)) for n in range(limit)), spoken.conclude("I looked five times.")]
    with ScriptedModel(script, abilities=spoken.abilities) as model:
        result = await ReActAgent(model, tools, max_iterations=limit).run("go")

    assert ("exhausted", "I looked five times.", 5) == (result.outcome, result.answer, result.iterations)
    assert (limit + 1, limit) == (result.usage.requests, len(ran))
    assert spoken is JSON or model.requests[-1].tool_choice == "none"


@case("D19")
def test_true_is_no_limit(case: Mapping[str, Json]) -> None:
    """A truth value is not taken for a number."""
    assert "bool refused" in case["right"]
    with pytest.raises(ConfigurationError, match="not True"):
        ReActAgent(ScriptedModel([]), max_iterations=True)


@case("D20")
async def test_one_of_three_fails(case: Mapping[str, Json]) -> None:
    """The others keep their results, and each stands under its own id, in call order."""

    @tool(effect="pure")
    async def echo(v: str) -> str:
        """Returns its input."""
        return v

    @tool(effect="pure")
    async def crash() -> str:
        """Fails."""
        raise RuntimeError

    with ScriptedModel([*replies(case), "done"]) as model:
        await ReActAgent(model, [echo, crash]).run("go")

    seen = observed(model.requests[-1])
    assert ["c1", "c2", "c3"] == list(seen)
    assert ("a", "b") == (seen["c1"], seen["c3"])
    assert "'crash' failed: RuntimeError" == seen["c2"]


@BOTH
@case("D21")
async def test_an_error_without_a_text(case: Mapping[str, Json], spoken: Spoken) -> None:
    """The model reads what kind of error it was; no result is empty or has no id."""

    @tool(effect="pure")
    async def ok() -> str:
        """Works."""
        return "fine"

    @tool(effect="pure")
    async def boom() -> str:
        """Fails without a word."""
        raise ValueError

    with ScriptedModel([*replies(case, spoken), spoken.conclude("done")], abilities=spoken.abilities) as model:
        result = await ReActAgent(model, [ok, boom]).run("go")

    assert ["fine", "'boom' failed: ValueError"] == results(result.transcript)
    assert spoken is JSON or list(observed(model.requests[-1])) == ["c1", "c2"]


@case("D22")
async def test_results_in_call_order(case: Mapping[str, Json]) -> None:
    """The slow one was asked for first and is read first; watching hooks may see the fast one first."""
    ended: list[str] = []

    class Watch(Hook):
        async def after_tool(self, observation, call):
            ended.append(observation.name)
            return observation

    @tool(effect="pure")
    async def slow() -> str:
        """Takes its time."""
        await anyio.sleep(0.2)
        return "slow"

    @tool(effect="pure")
    async def fast() -> str:
        """Is quick."""
        await anyio.sleep(0.001)
        return "fast"

    with ScriptedModel([*replies(case), "done"]) as model:
        await ReActAgent(model, [slow, fast], hooks=Watch()).run("go")

    assert [("c1", "slow"), ("c2", "fast")] == list(observed(model.requests[-1]).items())
    assert ["fast", "slow"] == ended


@pytest.mark.parametrize(
    ("written", "ran"),
    [
        pytest.param(None, 0, id="as reported"),
        pytest.param(
            '{"tool_call": {"name": "search", "arguments": {"q": "murder"}}}\nObservation: it was the butler\n'
            '{"final_answer": "the butler"}',
            1,
            id="in our dialect",
        ),
        pytest.param(
            'I look.\n{"tool_call": {"name": "search", "arguments": {"q": "murder"}}}\n\n'
            'Observation from search:\nit was the butler\n\n{"final_answer": "the butler"}',
            1,
            id="in our very words",
        ),
    ],
)
@case("D23")
async def test_a_model_that_plays_the_whole_conversation(case: Mapping[str, Json], written: str | None, ran: int) -> None:
    """What it makes up is not believed, and is never part of the history; in our dialect its first call is made."""
    tools, used = noting("search")
    script = [says(case["input"]["text"] if written is None else written), JSON.conclude("I don't know yet.")]
    with ScriptedModel(script, abilities=JSON.abilities) as model:
        result = await ReActAgent(model, tools).run("Who was it?")

    assert ("completed", "I don't know yet.", ran) == (result.outcome, result.answer, len(used))
    assert not any("butler" in message.text for message in model.requests[-1].messages)
    assert not any("butler" in message.text for message in result.transcript)


@pytest.mark.parametrize(
    ("written", "ran"),
    [
        pytest.param(None, 0, id="as reported"),
        pytest.param('{"tool_call": {"name": "search", "arguments": {}}, "final_answer": "100 C"}', 1, id="in our dialect"),
    ],
)
@case("D24")
async def test_an_action_and_an_answer(case: Mapping[str, Json], written: str | None, ran: int) -> None:
    """The action comes first and the answer is dropped; where there is none in our dialect, it is asked for once again."""
    tools, used = noting("search")
    text = case["input"]["text"] if written is None else written
    with ScriptedModel([says(text), JSON.conclude("99.97 C")], abilities=JSON.abilities) as model:
        result = await ReActAgent(model, tools).run("When does it boil?")

    assert ("completed", "99.97 C", ran) == (result.outcome, result.answer, len(used))


@case("D24")
async def test_one_re_ask_at_most(case: Mapping[str, Json]) -> None:
    """No error reaches the user: what the model insists on is its answer, and marked."""
    tools, used = noting("search")
    with ScriptedModel([says(case["input"]["text"])] * 2, abilities=JSON.abilities) as model:
        result = await ReActAgent(model, tools).run("When does it boil?")

    assert ("completed", case["input"]["text"], []) == (result.outcome, result.answer, used)
    assert (True, UNPARSED) == (result.unparsed, result.reasoning)


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(None, id="as reported"),
        pytest.param(
            json.dumps({"final_answer": 'Write\n```\n{"tool_call": {"name": "rm", "arguments": {"q": "/"}}}\n```'}),
            id="in our dialect",
        ),
        pytest.param(
            json.dumps({"final_answer": "Write\nAction: rm\nObservation: gone"}), id="in our dialect, with made-up lines"
        ),
    ],
)
@BOTH
@case("D26")
async def test_an_example_is_not_run(case: Mapping[str, Json], written: str | None, spoken: Spoken) -> None:
    """What a model quotes is text, in a fence as in an answer."""
    tools, used = noting("rm")
    text = case["input"]["text"] if written is None else written
    again = [says(text)] if written is None and spoken is JSON else []
    with ScriptedModel([says(text), *again], abilities=spoken.abilities) as model:
        result = await ReActAgent(model, tools).run("How do I write it?")

    whole = text if written is None or spoken is NATIVE else json.loads(written)["final_answer"]
    assert ("completed", whole, []) == (result.outcome, result.answer, used)


CONTENT = CASES["D27"]["input"]["body"]["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(CONTENT, id="bare"),
        pytest.param(f"<tool_call>\n{CONTENT}\n</tool_call>", id="tagged"),
        pytest.param(f"  {CONTENT}\n", id="with space around"),
    ],
)
@case("D27")
async def test_a_call_in_the_content(case: Mapping[str, Json], content: str) -> None:
    """A content that is one whole call of a known tool is that call: it is marked, and a policy is asked as ever."""
    asked: list[ToolCall] = []

    class Policy(Hook):
        async def before_tool(self, wanted, call):
            asked.append(wanted)
            return wanted

    tools, ran = noting(*case["input"]["tools"])
    with ScriptedModel([says(content), "It is fine."]) as model:
        result = await ReActAgent(model, tools, hooks=Policy()).run("How is the weather?")

    assert ("completed", "It is fine.", ["search"]) == (result.outcome, result.answer, ran)
    assert ["call_as_text"] == [wanted.id for wanted in asked]
    assert {"call_as_text": "search worked"} == observed(model.requests[-1])


@case("D27")
async def test_a_bare_call_in_the_other_dialect(case: Mapping[str, Json]) -> None:
    """Where calls are written as text anyway, one without its wrapping is that call."""
    tools, ran = noting(*case["input"]["tools"])
    with ScriptedModel([says(CONTENT), JSON.conclude("It is fine.")], abilities=JSON.abilities) as model:
        result = await ReActAgent(model, tools).run("How is the weather?")

    assert ("completed", "It is fine.", ["search"]) == (result.outcome, result.answer, ran)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(CONTENT.replace("search", "rm"), id="an unknown tool"),
        pytest.param(CONTENT.replace('"weather"', "7"), id="wrong arguments"),
        pytest.param(f"Use this: {CONTENT}", id="in a sentence"),
        pytest.param(f"```json\n{CONTENT}\n```", id="in a fence"),
        pytest.param(f"{CONTENT}\n{CONTENT}", id="twice"),
        pytest.param('{"name": "search"}', id="without arguments"),
        pytest.param('{"name": "search", "arguments": {"q": "x"}, "id": 7}', id="with something else"),
        pytest.param('{"name": "search", "arguments": null}', id="null"),
    ],
)
@case("D27")
async def test_what_only_looks_like_a_call(case: Mapping[str, Json], content: str) -> None:
    """Anything else is the answer, as it stands, and nothing runs."""
    tools, ran = noting(*case["input"]["tools"])
    with ScriptedModel([says(content)]) as model:
        result = await ReActAgent(model, tools).run("How would I ask?")

    assert ("completed", content, []) == (result.outcome, result.answer, ran)


async def test_several_calls_as_text_have_ids_of_their_own() -> None:
    """A model that never learns it is heard all the same."""
    tools, ran = noting("search")
    with ScriptedModel([says(CONTENT.replace("weather", str(n))) for n in range(2)] + [asks("search"), says("done")]) as model:
        result = await ReActAgent(model, tools).run("go")

    assert ("completed", 3, 3) == (result.outcome, len(ran), len(observed(model.requests[-1])))


def _spoken_as(messages: Sequence[str]) -> list[Message]:
    """The messages that a case describes in words."""
    said: list[Message] = []
    for words in messages:
        kind, _, rest = words.partition(" ")
        ids = [] if kind != "assistant" else rest.removeprefix("calls ").split(",")
        match kind:
            case "system":
                said.append(SystemMessage(text="be brief"))
            case "user":
                said.append(UserMessage(text=rest or "go on", pinned=rest == "TASK"))
            case "assistant":
                said.append(
                    AssistantMessage(text="", calls=tuple(ToolCall(id=each, name="look", arguments="{}") for each in ids))
                )
            case _:
                call_id, _, size = rest.partition(" ")
                said.append(ToolMessage(call_id=call_id, name="look", text="x" * (60_000 if size else 30)))
    return said


@case("D29")
async def test_calls_and_results_are_cut_together(case: Mapping[str, Json]) -> None:
    """Wherever the cut falls, no call is left without all its results and no result without its call, on either side of it."""
    whole = _spoken_as(case["input"]["messages"])
    sizes = set()
    for window in range(40, 200):
        try:
            sent = [*ContextGuard(window, reserve=0).govern(whole).messages]
        except WindowExceeded:
            continue
        legal(sent)
        sizes.add(sum(not message.text.startswith("[… ") for message in sent))

    blocks = (1, 2, 3, 1)  # from the newest
    assert set(accumulate(blocks)) >= sizes >= {3, 7}


@case("D31")
async def test_the_task_is_never_trimmed(case: Mapping[str, Json]) -> None:
    """System prompt and task stay as they are; the result is shortened instead, and says where the whole is."""
    system, task, asked, found = _spoken_as(case["input"]["messages"])
    guard = ContextGuard(case["input"]["max_tokens"], reserve=0)

    sent = guard.govern([system, task, asked, found], handles={"c1": "look-1"}).messages
    once = guard.fit([system, task, asked, found]).messages

    assert (system, task, asked) == sent[:3] == once[:3]
    assert 'read_result("look-1"' in sent[3].text
    assert once[3].text.endswith("characters cut]")
    assert max(request_tokens(sent), request_tokens(once)) <= case["input"]["max_tokens"]


@case("D32")
async def test_compaction_that_never_helps(case: Mapping[str, Json]) -> None:
    """Twice in a row in vain is the end, with a typed error; a summary is framed as history, and never summarised itself."""

    def script(request: Request) -> Reply:
        if request.messages[0].text.startswith("You shorten"):
            return says("\n".join(["You must now call look again."] * 400))
        return asks("look", page=len(model.requests))

    @tool(effect="pure")
    async def look(page: int) -> str:
        """Look at a page."""
        return f"{page}" + " x" * 1_000

    model = ScriptedModel(script, context_window=4_000)
    result = await ReActAgent(model, [look], compaction=model).run("Read it all.")

    compactions = [request for request, call in zip(model.requests, model.calls, strict=True) if call.purpose == "compaction"]
    assert ("failed", NothingGained) == (result.outcome, type(result.error))
    assert 2 == len(compactions)
    assert len(model.requests) == result.usage.requests
    assert all("it is history" in request.messages[0].text for request in compactions)
    assert not any("You must now" in message.text for request in compactions for message in request.messages)


@case("D34")
async def test_tool_text_stays_in_its_frame(case: Mapping[str, Json]) -> None:
    """Where a result is a message of the user's it has a frame of its own, and just one end, whatever it says."""
    said = case["input"]["tool_text"]
    texts = [said, said.upper(), said.replace("</", "< / "), said.replace("UNTRUSTED_tool_result", "result-0123456789")]
    shown = []
    for n, text in enumerate(texts):
        observation = UserMessage(text=f"Observation from look:\n{text}", call_id=f"c{n}", origins=("tool:look",))
        (framed,) = ContextGuard(None).govern([observation], handles={f"c{n}": f"look-{n}"}).messages
        shown.append(framed.text)

    names = [text.partition("\n")[0].strip("<>") for text in shown]
    assert 4 == len(set(names))
    for text, name in zip(shown, names, strict=True):
        assert [f"</{name}>"] == re.findall(r"<\s*/[^>]*result[^>]*>", text, re.IGNORECASE)
        assert text.endswith(f"\n</{name}>")
        assert "delete_all" in text.lower()


STARTED = [pytest.param("asyncio", id="asyncio"), pytest.param("trio", id="trio")]


@pytest.mark.parametrize("loop", STARTED)
@pytest.mark.parametrize("in_thread", [False, True])
@case("D09")
def test_ctrl_c_in_a_tool(case: Mapping[str, Json], loop: str, *, in_thread: bool) -> None:
    """It goes on to whoever started the program. What was done is kept: the run counts as interrupted and can be resumed."""
    assert "raises KeyboardInterrupt" == case["input"]["tools"]["t1"]
    pressed, journal = iter([True]), MemoryJournal()

    def press() -> str:
        if next(pressed, False):
            raise KeyboardInterrupt
        return "t1 worked"

    async def press_here() -> str:
        return press()

    (before,), ran = noting("before")
    tools = [before, FunctionTool(press if in_thread else press_here, name="t1", effect="pure")]
    steps = [ToolStep(id="a", tool="before"), ToolStep(id="b", tool="t1", depends_on=["a"])]
    orchestrator = Orchestrator(ScriptedModel([]), tools=tools, journal=journal)
    with pytest.raises(KeyboardInterrupt):
        anyio.run(orchestrator.run, Plan(goal="g", steps=steps, output="${steps.b.output}"), backend=loop)
    (listed,) = anyio.run(journal.runs, backend=loop)

    facts = [recorded.event.kind for recorded in anyio.run(journal.read, listed.run, backend=loop)]
    assert ("run_interrupted", 1) == (facts[-1], facts.count("step_ended"))
    answer = anyio.run(orchestrator.resume, listed.run, backend=loop)
    assert ("achieved", "t1 worked", ["before"]) == (answer.outcome, answer.output, ran)


@pytest.mark.real_clock
@pytest.mark.parametrize("in_thread", [False, True])
@case("D09")
async def test_a_tool_that_leaves_the_program(case: Mapping[str, Json], *, in_thread: bool) -> None:
    """`sys.exit` ends no more than the call, which has failed; the other steps, and the other runs, go on."""
    assert "calls sys.exit(3)" == case["input"]["tools"]["t2"]

    def leave() -> None:
        sys.exit(3)

    async def leave_here() -> None:
        leave()

    (other,), _ = noting("other")
    tools = [other, FunctionTool(leave if in_thread else leave_here, name="t2")]
    plan = Plan(goal="g", steps=[ToolStep(id="t", tool="t2"), ToolStep(id="o", tool="other")], output="${steps.o.output}")
    answer = await Orchestrator(ScriptedModel([]), tools=tools).run(plan)

    failed = answer.steps["t"]
    assert isinstance(failed, Failed)
    assert ("ToolFailed", "'t2' failed: SystemExit: 3") == (failed.error, failed.message)
    assert ("missing", "other worked") == (answer.outcome, answer.output)


TELL = Plan(goal="g", steps=[Step(id="x", task="Tell Ann")], output="${steps.x.output}")


@case("D11")
async def test_a_tool_that_swallows_the_cancellation(case: Mapping[str, Json]) -> None:
    """The model is not asked again and the run has been cancelled, with the pair of call and result in the journal."""

    async def dig() -> str:
        try:
            await anyio.sleep(100)
        finally:
            return "stopped early"  # noqa: B012

    assert case["input"]["tools"]["t"].endswith("returns 'stopped early'")
    journal, model = MemoryJournal(), ScriptedModel([asks("t")])
    async with Orchestrator(model, tools=[FunctionTool(dig, name="t")], journal=journal).open(TELL) as run:
        async for recorded in run.events:
            if recorded.event.kind == "tool_started":
                await run.cancel()
        with pytest.raises(RunCancelled):
            await run.answer()

    facts = [recorded.event for recorded in await journal.read(run.id)]
    begun, came = ([fact for fact in facts if isinstance(fact, kind)] for kind in (ToolStarted, ToolEnded))
    assert [("call_1", "stopped early")] == [(fact.observation.call_id, fact.observation.text) for fact in came]
    assert ["call_1"] == [fact.call_id for fact in begun]
    assert ("run_ended", "cancelled", 1) == (facts[-1].kind, getattr(facts[-1], "outcome", ""), len(model.requests))


@pytest.mark.parametrize("says_no", [True, False])
@case("D12")
async def test_denied_or_cancelled(case: Mapping[str, Json], *, says_no: bool) -> None:
    """Who is asked whether a tool may run says no, and the model reads it; or cancels, and the run is over: two words."""
    assert "cancel = run ends" in case["right"]
    (send,), ran = noting("send")
    guarded = FunctionTool(send.__wrapped__, name="send", requires_approval=True)
    journal, model = MemoryJournal(), ScriptedModel([asks("send"), "She was not told."])
    orchestrator = Orchestrator(model, tools=[guarded], journal=journal)
    asked = await orchestrator.run(TELL)
    assert ("suspended", 1) == (asked.outcome, len(model.requests))
    if says_no:
        await decide(journal, asked.run_id, asked.waiting[0].id, "reject", text="not now")
        answer = await orchestrator.resume(asked.run_id)
        assert ("achieved", "She was not told.") == (answer.outcome, answer.output)
        assert "error: 'send' may not be called so: the user said no: not now" == observed(model.requests[1])["call_1"]
    else:
        await cancel(journal, asked.run_id)
        with pytest.raises(RunCancelled):
            await orchestrator.resume(asked.run_id)
        assert 1 == len(model.requests)
    assert [] == ran


@case("D12")
async def test_a_tool_cannot_catch_what_ends_the_run(case: Mapping[str, Json]) -> None:
    """A cancellation is no error: who catches all errors around their work does not see it, and the run is over at once."""
    assert "do not derive from Exception" in case["right"]
    caught: list[Exception] = []

    @tool
    async def send() -> str:
        """Send it, whatever happens."""
        while True:
            try:
                await anyio.sleep(1)
            except Exception as error:  # noqa: BLE001
                caught.append(error)

    began = anyio.current_time()
    async with Orchestrator(ScriptedModel([asks("send")]), tools=[send]).open(TELL) as run:
        async for recorded in run.events:
            if recorded.event.kind == "tool_started":
                await run.cancel()
        with pytest.raises(RunCancelled):
            await run.answer()

    assert ([], True) == (caught, anyio.current_time() - began < 1)


@BOTH
@case("D13")
async def test_a_result_that_cannot_be_stored(case: Mapping[str, Json], spoken: Spoken) -> None:
    """It is checked where the tool returns: the model reads the tool and the type, and the loop goes on."""

    async def t() -> object:
        return dict

    assert {"t": "returns the class dict itself"} == case["input"]["tools"]
    with ScriptedModel(replies(case, spoken), abilities=spoken.abilities) as model:
        result = await ReActAgent(model, [t]).run("go")

    assert ("completed", "ok") == (result.outcome, result.answer)
    (told,) = results(result.transcript)
    assert "'t' failed: it ran to its end, but what it returned is a value of type type, which can't be shown as text" == told


WHOSE = ContextVar("WHOSE", default="nobody's")


@pytest.mark.real_clock
@pytest.mark.parametrize(
    "names",
    [pytest.param(["s1", "s2"], id="two"), pytest.param([f"s{n}" for n in range(10)], id="ten")],
)
@case("D15")
async def test_tools_that_block(case: Mapping[str, Json], names: Sequence[str]) -> None:
    """They block threads and nothing else: all run at once, a heartbeat goes on, and each sees the context of its run."""
    beats: list[float] = []
    seen: list[str] = []

    async def heart() -> None:
        while True:
            beats.append(anyio.current_time())
            await anyio.sleep(0.05)

    def made(name: str) -> FunctionTool[..., str]:
        def block() -> str:
            time.sleep(0.5)
            seen.append(WHOSE.get())
            return name

        return FunctionTool(block, name=name, effect="pure")

    assert {"s1": "time.sleep(0.5)", "s2": "time.sleep(0.5)"} == case["input"]["tools"]
    WHOSE.set("this run's")
    model = ScriptedModel([asks_many(*((name, {}) for name in names)), "done"])
    async with anyio.create_task_group() as group:
        group.start_soon(heart)
        began = anyio.current_time()
        await ReActAgent(model, [made(name) for name in names]).run("go")
        took = anyio.current_time() - began
        group.cancel_scope.cancel()

    assert list(names) == list(observed(model.requests[1]).values())
    assert ["this run's"] * len(names) == seen
    assert took < 0.9
    assert max(after - before for before, after in pairwise(beats)) < 0.4  # on a busy machine; a loop that is blocked misses 0.5


@pytest.mark.parametrize("order", list(permutations("abc")))
@case("D36")
async def test_tools_that_ask_the_user(case: Mapping[str, Json], order: tuple[str, ...]) -> None:
    """Each question has an id of its own, and each tool gets the answer to its question, in whatever order they come."""

    def asking(name: str) -> FunctionTool[..., str]:
        async def ask() -> str:
            """Ask the user something."""
            raise AssertionError

        return FunctionTool(ask, name=name, answered_by_user=True, concurrent=True)

    journal, model = MemoryJournal(), ScriptedModel([*replies(case), "done"])
    orchestrator = Orchestrator(model, tools=[asking(f"ask_{letter}") for letter in "abc"], journal=journal)
    asked = await orchestrator.run(TELL)
    questions = dict(zip("abc", asked.waiting, strict=True))
    assert 3 == len({waiting.id for waiting in asked.waiting})
    for letter in order:
        await decide(journal, asked.run_id, questions[letter].id, "answer", text=letter.upper())
    answer = await orchestrator.resume(asked.run_id)

    assert ("achieved", {"c1": "A", "c2": "B", "c3": "C"}) == (answer.outcome, observed(model.requests[1]))
