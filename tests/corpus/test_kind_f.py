"""Public faults of kind F, what calls cost and how it is counted: each case stands for its kind.

A case that has `deviates` goes by this engine's own rules in that point, for the reason that stands there.
"""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import anyio
import httpx
import orjson
import pytest
from msgspec.structs import replace

from orchestrator import Orchestrator
from orchestrator.agent import ReActAgent
from orchestrator.cli.view.text import cost_told, tokens_told
from orchestrator.events.facts import ModelFailed, ModelReplied
from orchestrator.journalled import JournalledModel
from orchestrator.ledger import private_ledger
from orchestrator.settings import ModelSettings, PriceSettings, Settings
from orchestrator.wiring import connect, tariff_named, wired
from planner import Plan, Step
from planner.results import Failed
from registry.anthropic import AnthropicModel
from registry.budget import Amounts, Budget
from registry.calls import NO_CALL, Call, Purpose
from registry.errors import NoTypedAnswer, OverBudget, Overloaded, Truncated, Unreachable
from registry.governor.budgeted import BudgetedModel
from registry.governor.fallback import FallbackModel
from registry.governor.retry import MOST_ATTEMPTS, RetryingModel
from registry.http import HttpDoor
from registry.messages import Json, Reply
from registry.models.model import Model
from registry.models.priced import PricedModel, charged
from registry.models.prices import MILLION, Price
from registry.openai import OpenAIModel
from registry.structured import structured_llm_call
from registry.testing import ScriptedModel
from registry.usage import UNMETERED, Usage
from tests.corpus.test_kind_b import Answer, Case, Endpoint, either_way, reply_of, stream_of, streamed, whole
from tests.registry.test_openai import ASK

pytestmark = pytest.mark.anyio

CASES: Mapping[str, Case] = {
    case["id"]: case for case in map(json.loads, (Path(__file__).parent / "data" / "kind_f.jsonl").read_text().splitlines())
}

_asserted: set[str] = set()


def cases(*ids: str) -> pytest.MarkDecorator:
    """The test of these cases, under their names: a case says what went in and what is right."""
    _asserted.update(ids)
    return pytest.mark.parametrize("case", [pytest.param(CASES[each], id=each) for each in ids])


def test_every_case_is_asserted() -> None:
    """No case is forgotten."""
    assert CASES.keys() == _asserted


def costing(usage: Json, *, text: str = "ok", finish: str = "stop") -> Answer:
    """A whole answer with this report of what it cost."""
    return whole({"choices": [{"message": {"content": text}, "finish_reason": finish}], "usage": usage})


def costing_in_events(usage: Json) -> Answer:
    """The same as a stream, which tells its cost last."""
    said = {"choices": [{"index": 0, "delta": {"content": "ok"}, "finish_reason": "stop"}]}
    events = (*map(orjson.dumps, (said, {"choices": [], "usage": usage})), b"[DONE]")
    return streamed(b"".join(b"data: %s\n\n" % event for event in events))


def anthropic(answer: Answer) -> AnthropicModel:
    return AnthropicModel("x:m", model="m", api_key=None, door=HttpDoor(httpx.MockTransport(lambda _: answer())))


def messaged(usage: Json) -> Answer:
    """A whole answer of the Messages API."""
    return whole({"content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn", "usage": usage})


def messaged_in_events(usage: Json) -> Answer:
    """The same as a stream: the input is told at its start, the output once more at its end."""
    events = (
        {"type": "message_start", "message": {"usage": {**usage, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "ok"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": usage["output_tokens"]}},
        {"type": "message_stop"},
    )
    return streamed(b"".join(b"data: %s\n\n" % event for event in map(orjson.dumps, events)))


def parts(usage: Usage) -> Mapping[str, int]:
    """The tokens by what each would be charged as: every one of them once."""
    cached, written = usage.cache_read_tokens, usage.cache_write_tokens
    plain = usage.input_tokens - cached - written
    return {"input": plain, "cached": cached, "cache_write": written, "output": usage.output_tokens}


def cost(usage: Usage, per_million: Mapping[str, float]) -> float:
    """What it costs at the case's prices, in dollars."""
    names = {"input": "input", "output": "output", "cached": "cache_read", "cache_write": "cache_write"}
    settings = PriceSettings(**{names[part]: dollars for part, dollars in per_million.items()})
    model = ModelSettings(provider="openai", price=settings)
    assert model.own_price is not None
    return float(charged(usage, model.own_price.tariff()).cost)


@cases("F01")
@pytest.mark.parametrize("told", [costing, costing_in_events])
async def test_cached_tokens_are_part_of_the_input(case: Case, told: Callable[[Json], Answer]) -> None:
    """What came from the cache is told apart within the input, so that no token is charged twice."""
    reply = await reply_of(Endpoint(told(case["input"]["usage"])).model(), stream=told is costing_in_events)

    assert {"input": 100, "cached": 20_400, "cache_write": 0, "output": 10} == parts(reply.usage)
    assert case["check"]["cost_usd"] == cost(reply.usage, case["input"]["price_per_million"])


@cases("F02")
@pytest.mark.parametrize("protocol", ["chat completions", "messages"])
async def test_tokens_written_to_a_cache_are_part_of_the_input(case: Case, protocol: str) -> None:
    """Reads and writes both stand within the input, whether or not the endpoint counts them in."""
    told = case["input"]["usage_normalised"]
    read, written, came, went = told["cache_read"], told["cache_write"], told["input_total"], told["output"]
    inside = {"cached_tokens": read, "cache_write_tokens": written}
    beside = {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
    model: Model = (
        anthropic(messaged({"input_tokens": came - read - written, "output_tokens": went, **beside}))
        if protocol == "messages"
        else Endpoint(costing({"prompt_tokens": came, "completion_tokens": went, "prompt_tokens_details": inside})).model()
    )
    usage = (await model.chat(ASK, NO_CALL)).usage

    assert {"input": 3000, "cached": 1200, "cache_write": 800, "output": 0} == parts(usage)
    assert (came, True) == (usage.input_tokens, usage.exact)
    assert case["check"]["cost_usd"] == cost(usage, case["input"]["price_per_million"])


@cases("F03")
@either_way
async def test_an_input_that_is_told_without_its_cached_part(case: Case, stream: bool) -> None:
    """It is made whole at the wire: from there on an input is an input, whoever told it."""
    told = messaged_in_events if stream else messaged
    usage = (await reply_of(anthropic(told(case["input"]["usage"])), stream=stream)).usage
    proxied = (await reply_of(Endpoint(costing(case["input"]["usage"])).model(), stream=stream)).usage

    assert Usage(requests=1, input_tokens=20_412, output_tokens=10, cache_read_tokens=20_400) == usage == proxied
    assert (case["check"]["input_total"], case["check"]["total"]) == (usage.input_tokens, usage.tokens)


@cases("F05")
@pytest.mark.parametrize("told", [costing, costing_in_events])
async def test_reasoning_is_part_of_the_output(case: Case, told: Callable[[Json], Answer]) -> None:
    """It is told apart within the output, not added to it."""
    usage = (await reply_of(Endpoint(told(case["input"]["usage"])).model(), stream=told is costing_in_events)).usage

    assert Usage(requests=1, input_tokens=100, output_tokens=70, reasoning_tokens=51) == usage
    assert case["check"]["total"] == usage.tokens


ALL_THOUGHT = Usage(requests=1, input_tokens=80, output_tokens=75, reasoning_tokens=75)


def thought_only(case: Case) -> Answer:
    given = case["input"]
    return costing(given["usage"], text=given["content"], finish=given["finish_reason"])


@cases("F06")
async def test_an_output_that_was_all_reasoning(case: Case) -> None:
    """An agent with nothing to show has still paid, for every time it asked; its error names the cap and the reasoning."""
    endpoint = Endpoint(thought_only(case))
    ledger = await private_ledger()
    result = await ReActAgent(endpoint.model(), reply_tokens=75).run("?", ledger=ledger)

    assert ("truncated", "") == (result.outcome, result.answer)
    assert "truncated: it reached the cap of 75 tokens, 75 tokens of it reasoning" in str(result.error)
    assert sum([ALL_THOUGHT] * len(endpoint.requests), Usage()) == result.usage == ledger.state.usage


@cases("F06")
async def test_a_typed_answer_that_was_all_reasoning(case: Case) -> None:
    """A structured call with nothing to show says what every reply cost."""
    endpoint = Endpoint(thought_only(case))
    with pytest.raises(NoTypedAnswer, match="cut off at the token limit") as caught:
        await structured_llm_call(endpoint.model(), ASK.messages, {"type": "object"}, NO_CALL, max_tokens=75)

    assert sum([ALL_THOUGHT] * len(endpoint.requests), Usage()) == caught.value.usage


SCHEMA: Json = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@cases("F07")
async def test_every_attempt_at_a_typed_answer_counts(case: Case) -> None:
    """The call cost what all of its replies did, and the ledger has an entry for each."""
    texts = {"schema error": '{"n": "many"}', "ok": '{"n": 1}'}
    lines = [
        Reply(text=texts[attempt["result"]], usage=Usage(requests=1, input_tokens=attempt["in"], output_tokens=attempt["out"]))
        for attempt in case["input"]["attempts"]
    ]
    ledger = await private_ledger()
    with ScriptedModel(lines, abilities={"json_mode": True}) as model:
        result = await structured_llm_call(JournalledModel(model, ledger), ASK.messages, SCHEMA, NO_CALL)

    assert ({"n": 1}, 3) == (result.value, result.attempts)
    assert Usage(requests=3, input_tokens=case["check"]["in"], output_tokens=case["check"]["out"]) == result.usage
    assert result.usage == ledger.state.usage
    assert 3 == sum(isinstance(recorded.event, ModelReplied) for recorded in ledger.facts)


@cases("F07")
@pytest.mark.parametrize(("seconds", "last"), [(60.0, Usage(requests=1, input_tokens=180, output_tokens=15)), (2.5, UNMETERED)])
async def test_every_attempt_at_a_request_counts(case: Case, seconds: float, last: Usage) -> None:
    """Failed ones too, and the one that a deadline ended, though nobody says what they cost."""
    attempts = len(case["input"]["attempts"])
    asked: list[httpx.Request] = []

    async def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        if len(asked) < attempts:
            return httpx.Response(503)
        await anyio.sleep(10)
        return costing({"prompt_tokens": 180, "completion_tokens": 15})()

    door, ledger = HttpDoor(httpx.MockTransport(handle)), await private_ledger()
    inner = OpenAIModel("x:m", model="m", base_url="https://x/v1", api_key=None, door=door)
    model = JournalledModel(RetryingModel(inner, jitter=lambda: 0.0), ledger)
    try:
        usage = (await model.chat(ASK, Call(deadline=anyio.current_time() + seconds))).usage
    except Unreachable as late:
        usage = late.usage

    assert UNMETERED + UNMETERED + last == usage == ledger.state.usage


@cases("F09")
@pytest.mark.parametrize(("part", "started"), [pytest.param(1, 0, id="none fits"), pytest.param(3, 2, id="two of a third fit")])
async def test_branches_side_by_side_share_what_is_left(case: Case, part: int, started: int) -> None:
    """The worst case of each is set aside before it starts, so together they never spend more than there is."""
    given = case["input"]
    worst = Decimal(str(given["worst_case_each_usd"])) / part
    limits = Amounts(cost=Decimal(str(given["limit_usd"])))
    budget = Budget(limits, since=anyio.current_time())
    budget.spent(Usage(requests=1, cost=Decimal(str(given["spent_usd"])), priced=1))
    tariff = Price(input=Decimal(0), output=worst * MILLION / 100).tariff()
    usage = Usage(requests=1, output_tokens=100)
    wire = PricedModel(ScriptedModel(lambda _: Reply(text="ok", usage=usage)), lambda *_: tariff, now=lambda: datetime.now(UTC))
    model = BudgetedModel(wire, lambda: tariff)
    ended: list[str] = []

    async def branch() -> None:
        try:
            await model.chat(replace(ASK, max_tokens=100), Call(budget=budget))
            ended.append("done")
        except OverBudget as error:
            ended.append(error.kind)

    async with anyio.create_task_group() as group:
        for _ in range(given["branches"]):
            group.start_soon(branch)

    assert ["cost"] * (given["branches"] - started) + ["done"] * started == sorted(ended)
    assert Decimal("0.2") - started * worst == budget.left(anyio.current_time()).cost


@cases("F11")
async def test_a_model_without_a_price_of_its_own(case: Case) -> None:
    """A dated one has the price of its undated name. A deployment's cost is unknown until somebody says whose price it has."""
    ((listed, price),) = case["input"]["table"].items()
    dated, deployment = case["input"]["models"]
    listing = ModelSettings(provider="openai", model=listed, price=PriceSettings(**price))
    mapped = ModelSettings(provider="openai", model=deployment, price_as="openai:gpt-4o")
    settings = Settings(base_url="https://x/v1", models={"listed": listing, "mapped": mapped})
    endpoint = Endpoint(costing({"prompt_tokens": 1000, "completion_tokens": 100}))

    replies = []
    for name in (dated, deployment, "mapped"):
        async with wired(settings, [name], door=HttpDoor(httpx.MockTransport(endpoint))) as models:
            replies.append(await models.model().chat(ASK, NO_CALL))
    tariff = tariff_named(dated, settings, datetime(2026, 7, 9, tzinfo=UTC))

    assert ["ok"] * 3 == [reply.text for reply in replies]
    assert ["$0.0014", "cost unknown", "$0.0035"] == [cost_told(reply.usage) for reply in replies]
    assert tariff is not None
    assert f"openai:{listed}" == tariff.alias


@cases("F13")
async def test_a_server_that_does_not_tell(case: Case) -> None:
    """What nobody told is unknown and not zero, in every total that it goes into."""
    reply = await reply_of(Endpoint(streamed(stream_of(case))).model(), stream=True)
    total = reply.usage + Usage(requests=1, input_tokens=1_000, output_tokens=24)

    assert Reply(text="four words are here", usage=UNMETERED) == reply
    assert ["tokens not reported", "at least 1,024 tokens"] == [
        tokens_told(usage.tokens, exact=usage.exact) for usage in (reply.usage, total)
    ]


@cases("F13")
async def test_a_server_that_refuses_to_tell(case: Case) -> None:
    """The option that it refuses is left out at once, and from then on; the refused request counts."""
    refusal = {"error": {"message": "Unrecognized request argument", "param": "stream_options"}}
    endpoint = Endpoint(whole(refusal, status=400), streamed(stream_of(case)))
    model = endpoint.model(base_url="https://untold/v1")
    replies = [await reply_of(model, stream=True) for _ in range(2)]

    assert [True, False, False] == ["stream_options" in body for body in endpoint.bodies]
    assert [Usage(requests=1) + UNMETERED, UNMETERED] == [reply.usage for reply in replies]


@cases("F15")
async def test_running_totals(case: Case) -> None:
    """The last total is the total, also of a stream that breaks off."""
    reply = await reply_of(Endpoint(streamed(stream_of(case))).model(), stream=True)
    broken = streamed(stream_of(case).partition(b'"delta":{}')[0], httpx.ReadError("reset"))

    assert Usage(requests=1, input_tokens=case["check"]["in"], output_tokens=case["check"]["out"]) == reply.usage
    with pytest.raises(Truncated) as caught:
        await reply_of(Endpoint(broken).model(), stream=True)
    assert Usage(requests=1, input_tokens=5, output_tokens=2) == caught.value.usage


@cases("F15")
async def test_running_totals_of_the_messages_api(case: Case) -> None:
    """There too: what is told again replaces what was told, it does not add to it."""
    told = {"input_tokens": case["check"]["in"], "output_tokens": case["check"]["out"]}

    usage = (await reply_of(anthropic(messaged_in_events(told)), stream=True)).usage
    assert Usage(requests=1, input_tokens=5, output_tokens=3) == usage


def connected(endpoint: Endpoint, name: str) -> Model:
    """A model with all its layers."""
    return connect(f"openai:{name}", base_url=f"https://{name}/v1", api_key="k", door=HttpDoor(httpx.MockTransport(endpoint)))


@cases("F17")
@pytest.mark.parametrize("chain", [("a",), ("a", "b")], ids=["one model", "with a fallback"])
@either_way
async def test_one_layer_retries(case: Case, chain: tuple[str, ...], stream: bool) -> None:
    """However often an endpoint fails, each model is asked so many times and no more, and each request is counted once."""
    assert "provider fails 20 times" in case["input"]["behaviour"]
    endpoint = Endpoint(whole({}, status=503))
    models = [connected(endpoint, name) for name in chain]
    ledger = await private_ledger()
    model = JournalledModel(FallbackModel(models) if len(models) > 1 else models[0], ledger)

    with pytest.raises(Overloaded):
        await reply_of(model, stream=stream)
    assert MOST_ATTEMPTS * len(chain) == len(endpoint.requests)
    assert sum([UNMETERED] * len(endpoint.requests), Usage()) == ledger.state.usage
    assert [ModelFailed] == [type(recorded.event) for recorded in ledger.facts]


@cases("F17")
@pytest.mark.parametrize("layers", [connected, lambda endpoint, _: endpoint.model()], ids=["all layers", "the wire alone"])
async def test_a_run_counts_what_was_sent(case: Case, layers: Callable[[Endpoint, str], Model]) -> None:
    """Its total has one entry for each request that left, whether it failed or not, and one total for all who ask."""
    assert "One ledger" in case["right"]
    endpoint = Endpoint(costing({"prompt_tokens": 10, "completion_tokens": 1}), whole({}, status=503))
    plan = Plan(goal="g", steps=(Step(id="a", task="a"), Step(id="b", task="b", depends_on=("a",))))
    answer = await Orchestrator(layers(endpoint, "a")).run(plan)

    sent = len(endpoint.requests)
    assert Usage(requests=sent, input_tokens=10, output_tokens=1, unmetered=sent - 1) == answer.usage == answer.summary.usage
    failed = answer.steps["b"]
    assert isinstance(failed, Failed)
    assert failed.usage.requests == failed.usage.unmetered > 0


PHASES: tuple[tuple[Purpose, str, int, int], ...] = (
    ("plan", "", 50, 10),
    ("step", "a", 100, 20),
    ("step", "b", 100, 20),
    ("step", "b/inner", 30, 5),
    ("synthesis", "", 80, 15),
)


@cases("F18")
async def test_all_phases_are_counted_and_limited(case: Case) -> None:
    """Planner, steps, what a step begins and the synthesis go into one total, each under its name, and the limit is for all."""
    assert "planner 50/10, two steps 100/20 each, one step starts a sub-run 30/5, synthesis 80/15" == case["input"]["plan"]
    total, now = case["check"]["in"] + case["check"]["out"], anyio.current_time()
    run = Budget(Amounts(tokens=total + 100), since=now)
    step = run.within(Amounts(), since=now, whose="step 'b'")
    budgets = {"b": step, "b/inner": step.within(Amounts(tokens=200), since=now, whose="the inner run")}
    lines = [Reply(text="ok", usage=Usage(requests=1, input_tokens=came, output_tokens=went)) for *_, came, went in PHASES]
    ledger = await private_ledger()
    model = JournalledModel(BudgetedModel(ScriptedModel(lines)), ledger)
    request = replace(ASK, max_tokens=50)
    for purpose, label, *_ in PHASES:
        scope = f"{purpose}/{label}"
        await model.chat(request, Call(run="r", scope=scope, purpose=purpose, label=label, budget=budgets.get(label, run)))

    assert Usage(requests=5, input_tokens=case["check"]["in"], output_tokens=case["check"]["out"]) == ledger.state.usage
    replies = [recorded.event for recorded in ledger.facts if isinstance(recorded.event, ModelReplied)]
    assert [phase[:2] for phase in PHASES] == [(reply.purpose, reply.step) for reply in replies]
    assert [100, 100] == [budget.left(now).tokens for budget in (run, budgets["b/inner"])]
    assert [total, 35] == [budget.spending[0].tokens for budget in (run, budgets["b/inner"])]
    with pytest.raises(OverBudget, match="the budget of the run has 100 tokens left"):
        await model.chat(replace(ASK, max_tokens=100), Call(purpose="verdict", budget=run))
