"""Each attempt is set aside before it leaves and settled after it, and always leaves with a cap."""

from decimal import Decimal

import anyio
import httpx
import pytest
from msgspec.structs import replace

from registry.budget import Amounts, Budget
from registry.calls import NO_CALL, Call
from registry.context.estimating import request_tokens
from registry.errors import OverBudget, Overloaded, Truncated, Unpriced, Unreachable
from registry.governor.budgeted import CAP, LEAST_CAP, BudgetedModel, is_budgeted, tariff_under, unpriced
from registry.governor.fallback import FallbackModel
from registry.governor.retry import RetryingModel
from registry.http import HttpDoor
from registry.messages import Reply, Request, UserMessage
from registry.models.prices import FREE, Price
from registry.openai import OpenAIModel
from registry.testing import CutAfter, Delay, FaultyModel, ScriptedModel
from registry.usage import UNMETERED, Usage

pytestmark = pytest.mark.anyio

HELLO = Request(messages=(UserMessage(text="hello"),))
CAME = request_tokens(HELLO.messages)
TARIFF = Price(input=Decimal(1), output=Decimal(2)).tariff()


def metered(tokens: int) -> Reply:
    return Reply(text="fine", usage=Usage(requests=1, input_tokens=tokens, priced=1))


def call(budget: Budget) -> Call:
    return Call(budget=budget)


def limited(**limits) -> Budget:
    return Budget(Amounts(**limits), since=anyio.current_time())


@pytest.mark.parametrize(
    ("limits", "asked", "window", "cap"),
    [
        pytest.param({"tokens": 10_000}, 50, None, 50, id="its own"),
        pytest.param({"tokens": 10_000}, None, None, CAP, id="the model's"),
        pytest.param({"cost": Decimal(1)}, None, None, CAP, id="for money too"),
        pytest.param({"tokens": 10_000}, None, 1_000, 1_000 - CAME, id="as far as the window goes"),
        pytest.param({"requests": 5}, None, None, None, id="none where neither is limited"),
    ],
)
async def test_a_cap_is_always_sent(limits, asked, window, cap):
    """What was set aside for the output can't be exceeded."""
    inner = ScriptedModel(["fine"], context_window=window)
    await BudgetedModel(inner, lambda: TARIFF).chat(replace(HELLO, max_tokens=asked), call(limited(**limits)))

    assert [cap] == [request.max_tokens for request in inner.requests]


async def test_without_a_budget_nothing_changes():
    """The request is the caller's."""
    inner = ScriptedModel(["fine", "fine"])
    model = BudgetedModel(inner)
    await model.chat(HELLO, NO_CALL)
    assert [_ async for _ in model.stream_chat(HELLO, NO_CALL)]

    assert [HELLO, HELLO] == inner.requests
    assert [NO_CALL, NO_CALL] == inner.calls


@pytest.mark.parametrize("stream", [False, True])
async def test_what_was_used_is_settled(stream):
    """The estimate is free again, but for what the reply says."""
    budget = limited(tokens=10_000)
    model = BudgetedModel(ScriptedModel([metered(30)]))
    if stream:
        assert [piece async for piece in model.stream_chat(HELLO, call(budget))]
    else:
        await model.chat(HELLO, call(budget))

    assert 10_000 - 30 == budget.left(anyio.current_time()).tokens


@pytest.mark.parametrize(
    ("error", "left", "estimated"),
    [
        pytest.param(Unreachable("here", "gone"), 10_000, 0, id="never sent"),
        pytest.param(Overloaded("here", "busy"), 10_000 - CAME - CAP, 1, id="nobody knows"),
        pytest.param(Overloaded("here", "too many", status=429), 10_000, 0, id="turned away"),
        pytest.param(Truncated("here", "cut", usage=Usage(requests=1, input_tokens=5, unmetered=1)), 5_898, 1, id="cut"),
    ],
)
async def test_a_failed_attempt_is_settled(error, left, estimated):
    """At what it says, or else at the estimate, which is flagged."""
    budget = limited(tokens=10_000)
    with pytest.raises(type(error)):
        await BudgetedModel(ScriptedModel([error])).chat(HELLO, call(budget))

    assert (left, estimated) == (budget.left(anyio.current_time()).tokens, budget.estimated)


async def test_a_cancelled_attempt_is_settled_at_its_estimate():
    """It was sent, and may be paid for. A stream that is left early is one."""
    budget = limited(tokens=20_000)
    model = BudgetedModel(FaultyModel(ScriptedModel(["a b", "c d"]), [Delay(9)]))
    with anyio.move_on_after(1):
        await model.chat(HELLO, call(budget))
    stream = model.stream_chat(HELLO, call(budget))
    await anext(stream)
    await stream.aclose()

    assert (20_000 - 2 * (CAME + CAP), 2) == (budget.left(anyio.current_time()).tokens, budget.estimated)


@pytest.mark.parametrize("stream", [False, True])
async def test_every_attempt_is_set_aside(stream):
    """Retries can't spend more than there is: the request that would is never sent."""
    inner = ScriptedModel([Overloaded("here", "busy")] * 2)
    model = RetryingModel(BudgetedModel(inner), jitter=lambda: 0.0)
    paid = call(limited(requests=2))
    with pytest.raises(OverBudget, match="0 requests left") as caught:
        await (anext(model.stream_chat(HELLO, paid)) if stream else model.chat(HELLO, paid))

    inner.assert_used_up()
    assert UNMETERED + UNMETERED == caught.value.usage


async def test_one_that_lacks_room_waits_for_those_in_flight():
    """They may need less than was set aside for them."""
    budget = limited(tokens=CAME + CAP + 20)
    model = BudgetedModel(FaultyModel(ScriptedModel([metered(5)] * 4), [Delay(1)] * 4))
    began = anyio.current_time()
    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(model.chat, HELLO, call(budget))

    assert 4 == pytest.approx(anyio.current_time() - began, abs=0.4)
    assert CAME + CAP == budget.left(anyio.current_time()).tokens


async def test_time_that_is_over():
    """Nothing is sent after it, and nobody waits for those in flight who can't bring it back."""
    budget = limited(seconds=5.0)
    model = BudgetedModel(FaultyModel(ScriptedModel(["fine"]), [Delay(9)]))
    async with anyio.create_task_group() as group:
        group.start_soon(model.chat, HELLO, call(budget))
        await anyio.sleep(6)
        with pytest.raises(OverBudget, match="0 seconds left"):
            await model.chat(HELLO, call(budget))


async def test_thoughts_are_set_aside_too():
    """Some models think beyond the cap of their reply."""
    budget = limited(tokens=CAME + LEAST_CAP + 999)
    with pytest.raises(OverBudget):
        await BudgetedModel(ScriptedModel([]), thinking=1_000).chat(HELLO, call(budget))


async def test_money():
    """Input and cap at the model's prices."""
    dollars = [(CAME * Decimal(1) + cap * Decimal(2)) / 1_000_000 for cap in (CAP, LEAST_CAP)]
    inner = ScriptedModel(["x"])
    model = BudgetedModel(inner, lambda: TARIFF)
    with pytest.raises(OverBudget) as caught:
        await model.chat(HELLO, call(limited(cost=dollars[1] - Decimal("0.000001"))))

    assert dollars[0] == caught.value.wanted
    await model.chat(HELLO, call(limited(cost=dollars[0])))
    assert [CAP] == [request.max_tokens for request in inner.requests]


@pytest.mark.parametrize(
    ("left", "cap"),
    [
        pytest.param(CAP, CAP, id="all"),
        pytest.param(CAP - 1, CAP // 2, id="half"),
        pytest.param(LEAST_CAP, LEAST_CAP, id="least"),
    ],
)
async def test_the_last_requests_leave_with_smaller_caps(left, cap):
    """As small as what is left, since nobody is in flight who might need less than was set aside."""
    inner = ScriptedModel([metered(5)])
    await BudgetedModel(inner).chat(HELLO, call(limited(tokens=CAME + left)))

    assert [cap] == [request.max_tokens for request in inner.requests]


async def test_a_small_cap_is_nobodys_wish_while_others_may_come_back():
    """Those in flight are waited for first: what they leave may be enough."""
    budget = limited(tokens=CAME + CAP + 500)
    inner = ScriptedModel([metered(5)] * 2)
    model = BudgetedModel(FaultyModel(inner, [Delay(1)]))
    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(model.chat, HELLO, call(budget))

    assert [CAP, CAP] == [request.max_tokens for request in inner.requests]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_request_leaves_when_it_is_noted(stream):
    """One that can't be noted is not sent, and takes nothing."""
    inner, noted = ScriptedModel(["fine"]), list[str]()

    async def note(label: str) -> None:
        noted.append(label)
        assert len(noted) - 1 == len(inner.requests)
        if len(noted) == 2:
            raise OSError("no room")

    budget = Budget(Amounts(requests=5), since=anyio.current_time(), note=note)
    model, paid = BudgetedModel(inner), Call(budget=budget, label="a")

    async def ask() -> None:
        if stream:
            assert [piece async for piece in model.stream_chat(HELLO, paid)]
        else:
            await model.chat(HELLO, paid)

    await ask()
    with pytest.raises(OSError, match="no room"):
        await ask()

    assert ["a", "a"] == noted
    assert (1, 0) == tuple(each.requests for each in budget.spending)


async def test_a_model_without_a_price():
    """Where money is limited it is not asked, unless the user allows that; where it isn't, nobody minds."""
    model = BudgetedModel(ScriptedModel(["x", "y"], name="m"))
    with pytest.raises(Unpriced, match="nobody knows what 'm' charges"):
        await model.chat(HELLO, call(limited(cost=Decimal(1))))

    await model.chat(HELLO, call(Budget(Amounts(cost=Decimal(1)), since=anyio.current_time(), unpriced="allow")))
    await model.chat(HELLO, call(limited(tokens=10_000)))


async def test_the_call_ends_with_the_budgets_time():
    """Its deadline is its own or the budget's, whichever is sooner."""
    inner = ScriptedModel(["x"] * 3)
    model, now = BudgetedModel(inner), anyio.current_time()
    for deadline, seconds in [(None, 60.0), (now + 10, 60.0), (None, None)]:
        await model.chat(HELLO, Call(deadline=deadline, budget=Budget(Amounts(seconds=seconds), since=now)))

    assert [now + 60, now + 10, None] == [asked.deadline for asked in inner.calls]


@pytest.mark.parametrize("requests", [1, 2])
async def test_a_request_that_is_said_anew_counts_again(requests):
    """One that an endpoint refused and that leaves once more, said otherwise, needs a place of its own."""
    asked: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.content)
        if len(asked) == 1:
            return httpx.Response(400, json={"error": {"message": "no", "param": "max_tokens", "code": "unsupported_parameter"}})
        choice = {"message": {"content": "fine"}, "finish_reason": "stop"}
        return httpx.Response(200, json={"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})

    door = HttpDoor(httpx.MockTransport(answer))
    base_url = f"https://anew-{requests}.example/v1"
    wire = OpenAIModel("x:m", model="m", base_url=base_url, api_key=None, door=door)
    budget = limited(requests=requests, tokens=100_000)
    try:
        usage = (await BudgetedModel(wire).chat(HELLO, call(budget))).usage
    except OverBudget as error:
        usage = error.usage

    assert requests == len(asked) == usage.requests
    assert 0 == budget.left(anyio.current_time()).requests


def test_the_models_without_a_price_are_known_before_a_run():
    """Through all layers and chains; what nobody has put a price on is unpriced."""
    bare, cut = ScriptedModel([], name="bare"), FaultyModel(ScriptedModel([], name="cut"), [CutAfter(1)])
    priced = RetryingModel(BudgetedModel(ScriptedModel([], name="dear"), lambda: TARIFF), jitter=lambda: 0.0)
    free = BudgetedModel(ScriptedModel([], name="free"), lambda: FREE)
    unknown = RetryingModel(BudgetedModel(ScriptedModel([], name="unknown")), jitter=lambda: 0.0)

    assert ("unknown", "bare", "cut") == unpriced(FallbackModel([priced, unknown, bare, free, cut, unknown]))


def test_whether_every_request_is_paid_for():
    """Through all layers and chains: each model of a chain must be."""
    bare, priced = ScriptedModel([]), BudgetedModel(ScriptedModel([]), lambda: TARIFF)
    retried = RetryingModel(priced, jitter=lambda: 0.0)

    assert [True, True, False, False] == [
        is_budgeted(model) for model in (retried, FallbackModel([retried, priced]), FallbackModel([retried, bare]), bare)
    ]
    assert [TARIFF, TARIFF, None] == [tariff_under(model) for model in (retried, FallbackModel([retried, bare]), bare)]
