"""Models put together, over a transport that plays every endpoint."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import anyio
import httpx
import pytest
from msgspec.structs import replace
from pydantic import SecretStr

from orchestrator.settings import ModelSettings, Settings
from orchestrator.wiring import connect, wired
from registry.budget import Amounts, Budget
from registry.calls import NO_CALL, Call
from registry.errors import ConfigurationError, OverBudget, Unpriced
from registry.governor.breaker import FAILURES
from registry.governor.bucket import MARGIN
from registry.governor.budgeted import CAP, unpriced
from registry.http import HttpDoor
from registry.messages import Request, UserMessage
from registry.models.prices import Price

pytestmark = pytest.mark.anyio

HELLO = Request(messages=(UserMessage(text="Hello"),))


class Endpoints:
    """Every endpoint at once: says which model answers, counts requests, and fails for hosts that are down."""

    def __init__(self, *, down: tuple[str, ...] = (), served: tuple[str, ...] = ("first",)) -> None:
        self.down, self.served = down, served
        self.seen: list[httpx.Request] = []
        self.door = HttpDoor(httpx.MockTransport(self._answer))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        if request.url.host in self.down:
            raise httpx.ConnectError("refused")
        if request.url.path.endswith("/models"):
            return httpx.Response(200, json={"data": [{"id": model} for model in self.served]})
        model = json.loads(request.content)["model"]
        if request.url.path.endswith("/messages"):
            said = {"type": "text", "text": f"{model} says hello"}
            return httpx.Response(200, json={"model": model, "content": [said], "stop_reason": "end_turn"})
        choice = {"index": 0, "message": {"role": "assistant", "content": f"{model} says hello"}, "finish_reason": "stop"}
        return httpx.Response(200, json={"model": model, "choices": [choice]})


async def test_a_key_is_enough() -> None:
    """With a key alone, the default model of the default endpoint answers, for every role."""
    endpoints = Endpoints()

    async with wired(Settings(keys={"OPENAI_API_KEY": SecretStr("sk-1")}), door=endpoints.door) as models:
        reply = await models.model("planning").chat(HELLO, NO_CALL)

    assert reply.text == "gpt-4.1-mini says hello"
    (request,) = endpoints.seen
    assert str(request.url) == "https://api.openai.com/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer sk-1"


async def test_anthropic_is_spoken_to_in_its_own_protocol() -> None:
    """The provider decides the protocol, the key and what is known of the model; its default model is the one not named."""
    endpoints = Endpoints()
    settings = Settings(keys={"ANTHROPIC_API_KEY": SecretStr("sk-a")})

    async with wired(settings, ["anthropic:claude-haiku-4-5", "fast=anthropic"], door=endpoints.door) as models:
        model = models.model()
        replies = [await model.chat(HELLO, NO_CALL), await models.model("fast").chat(HELLO, NO_CALL)]

    assert ["claude-haiku-4-5 says hello", "claude-sonnet-4-5 says hello"] == [reply.text for reply in replies]
    assert ({"tool_call": True}, 200_000) == (model.abilities, model.context_window)
    assert {("https://api.anthropic.com/v1/messages", "sk-a")} == {
        (str(request.url), request.headers["x-api-key"]) for request in endpoints.seen
    }


async def test_a_model_found_on_this_machine_is_told() -> None:
    """Nothing is named, so the first server's first model is taken, and the user hears of it."""
    told: list[str] = []

    async with wired(Settings(), tell=told.append, door=Endpoints().door) as models:
        assert models.names == ("ollama:first",)

    assert told == ["using ollama:first, which is served on this machine"]


async def test_a_bare_name_is_found_where_it_is_served() -> None:
    """Without a default endpoint a model's own name is looked for on this machine; the role stays the one asked for."""
    async with wired(Settings(), ["planning=second"], door=Endpoints(served=("first", "second")).door) as models:
        assert models.roles["planning"] == "ollama:second"


async def test_an_endpoint_without_a_named_model_is_asked() -> None:
    """The first model that the endpoint serves is asked, and the user hears of it."""
    told: list[str] = []

    async with wired(Settings(base_url="http://h/v1"), tell=told.append, door=Endpoints().door) as models:
        reply = await models.model().chat(HELLO, NO_CALL)

    assert reply.text == "first says hello"
    assert told == ["using first, the first model that http://h/v1 serves"]


async def test_a_second_model_steps_in() -> None:
    """When the first model's endpoint is down, the fallback answers."""
    names = ["http://a/v1#one", "http://b/v1#two"]

    async with wired(Settings(), names, door=Endpoints(down=("a",)).door) as models:
        reply = await models.model().chat(HELLO, NO_CALL)

    assert reply.text == "two says hello"


async def test_an_overloaded_endpoint_is_asked_again() -> None:
    """One failure of a moment is not the caller's problem."""
    answers = iter([httpx.Response(503), httpx.Response(200, json={"choices": [{"message": {"content": "at last"}}]})])
    door = HttpDoor(httpx.MockTransport(lambda _: next(answers)))

    async with wired(Settings(), ["http://a/v1#one"], door=door) as models:
        reply = await models.model().chat(HELLO, NO_CALL)

    assert reply.text == "at last"


async def test_the_file_s_models_may_be_asked_for_by_name() -> None:
    """A plan may name a model of the file that plays no role; its window and abilities are the file's."""
    spare = ModelSettings(provider="ollama", model="m", context_window=5000, abilities={"tool_call": False})
    settings = Settings(base_url="http://h/v1", model="x", models={"spare": spare}, roles={"general": ("openai:x",)})

    async with wired(settings, door=Endpoints().door) as models:
        model = models.model("spare")

    assert model.context_window == 5000
    assert not model.abilities["tool_call"]
    assert models.roles["general"] == "openai:x"


def test_connect_makes_a_model_at_once() -> None:
    """A Python program needs a name and a key; nothing is opened."""
    model = connect("openai:gpt-4o", api_key="sk-1")

    assert model.name == "openai:gpt-4o"
    assert model.context_window == 128_000


def test_connect_takes_what_it_is_told() -> None:
    """Abilities and window of the caller come before what is known."""
    model = connect("m", base_url="http://h/v1", abilities={"tool_call": False}, context_window=9000)

    assert not model.abilities["tool_call"]
    assert model.context_window == 9000


async def test_a_reply_has_its_price() -> None:
    """Every model is charged by its own tariff, the one that steps in too; on this machine nothing is paid."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.host == "a":
            raise httpx.ConnectError("refused")
        usage = {"prompt_tokens": 1000, "completion_tokens": 100}
        choice = {"message": {"content": "yes"}, "finish_reason": "stop"}
        return httpx.Response(200, json={"choices": [choice], "usage": usage})

    settings = Settings(keys={"OPENAI_API_KEY": SecretStr("sk-1")})
    seen = []
    for names in (["http://a/v1#m", "openai:gpt-4o"], ["http://b/v1#m"], ["ollama:m"]):
        async with wired(settings, names, door=HttpDoor(httpx.MockTransport(answer))) as models:
            usage = (await models.model().chat(HELLO, NO_CALL)).usage
        seen.append((usage.cost, usage.priced))

    assert [(Decimal("0.0035"), 1), (0, 0), (0, 1)] == seen


@pytest.mark.parametrize(
    ("given", "cost"),
    [
        pytest.param({}, "0", id="nothing said"),
        pytest.param({"price": Price(input=Decimal(1), output=Decimal(4))}, "0.0014", id="a price"),
        pytest.param({"price_as": "openai:gpt-4o"}, "0.0035", id="another's"),
    ],
)
async def test_connect_takes_a_price(given: Mapping[str, Any], cost: str) -> None:
    """Of the caller's own deployment, which nobody else can know."""
    usage = {"prompt_tokens": 1000, "completion_tokens": 100}
    answer = httpx.Response(200, json={"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}], "usage": usage})
    door = HttpDoor(httpx.MockTransport(lambda _: answer))

    reply = await connect("mine", base_url="http://h/v1", door=door, **given).chat(HELLO, NO_CALL)

    assert (Decimal(cost), bool(given)) == (reply.usage.cost, reply.usage.cost_exact)


async def test_caps_reach_the_provider() -> None:
    """What a model may say and think, from the settings or from the caller of `connect`."""
    endpoints, key = Endpoints(), SecretStr("sk-a")
    capped = ModelSettings(provider="anthropic", model="m", max_output=500, thinking=2000)
    settings = Settings(keys={"ANTHROPIC_API_KEY": key}, models={"big": capped})
    async with wired(settings, ["big"], door=endpoints.door) as models:
        await models.model().chat(HELLO, NO_CALL)
    await connect("anthropic:m", api_key=key, max_output=500, thinking=2000, door=endpoints.door).chat(HELLO, NO_CALL)
    await connect("anthropic:m", api_key=key, door=endpoints.door).chat(HELLO, NO_CALL)

    bodies = [json.loads(request.content) for request in endpoints.seen]
    assert [2500, 2500, 4096] == [body["max_tokens"] for body in bodies]
    assert [2000, 2000, None] == [body.get("thinking", {}).get("budget_tokens") for body in bodies]


async def test_connect_sends_a_key_only_where_it_belongs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's key does not follow to an address that the caller gives; a key that the caller gives does."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    seen: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("authorization"))
        return httpx.Response(200, json={"choices": [{"message": {"content": "yes"}}]})

    door = HttpDoor(httpx.MockTransport(answer))
    for name, key in (("m", None), ("m", "sk-given"), ("ollama:m", "sk-given")):
        await connect(name, base_url="http://h/v1", api_key=key, door=door).chat(HELLO, NO_CALL)

    assert [None, "Bearer sk-given", "Bearer sk-given"] == seen


async def test_connect_speaks_anthropic_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of one's own is spoken to in the provider's protocol, with the key that is given or none."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-environment")
    endpoints = Endpoints()

    for key in (None, "sk-given"):
        await connect("anthropic:m", base_url="http://h", api_key=key, door=endpoints.door).chat(HELLO, NO_CALL)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    await connect("anthropic:m", api_key="sk-mine", door=endpoints.door).chat(HELLO, NO_CALL)

    assert [("h", None), ("h", "sk-given"), ("api.anthropic.com", "sk-mine")] == [
        (request.url.host, request.headers.get("x-api-key")) for request in endpoints.seen
    ]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("openai:gpt-4o", "OPENAI_API_KEY", id="no key"),
        pytest.param("anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY", id="no key of Anthropic"),
        pytest.param("local", "async with wired", id="the embedded model"),
        pytest.param("ollama", "write ollama:MODEL", id="no model"),
    ],
)
def test_connect_says_what_it_lacks(name: str, told: str) -> None:
    """What can't be had without waiting, or without a key, is refused at once."""
    with pytest.raises(ConfigurationError, match=told):
        connect(name)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param({"thinking": 2000}, "ollama:m takes no thinking", id="thinking"),
        pytest.param({"max_output": 2000}, "ollama:m takes no max_output", id="a cap"),
        pytest.param({"price_as": "gpt-4o"}, "write provider:model", id="half a name"),
        pytest.param(
            {"price_as": "openai:gpt-4o", "price": Price(input=Decimal(1), output=Decimal(4))},
            "give one of them",
            id="two prices",
        ),
    ],
)
def test_connect_refuses_what_the_provider_does_not_take(given: Mapping[str, Any], told: str) -> None:
    """As the settings file does."""
    with pytest.raises(ConfigurationError, match=told):
        connect("ollama:m", **given)


@pytest.mark.parametrize("way", ["file", "argument"])
async def test_a_set_rate_is_kept(way: str) -> None:
    """Thirty requests a minute leave two seconds apart, whoever set that, and whoever asks."""
    endpoints, began = Endpoints(), anyio.current_time()
    if way == "file":
        slow = ModelSettings(provider="openai", model="slow", base_url="http://a/v1", requests_per_minute=30)
        async with wired(Settings(models={"slow": slow}), ["slow"], door=endpoints.door) as models:
            asked = [models.model() for _ in range(3)]
            for model in asked:
                await model.chat(HELLO, NO_CALL)
    else:
        for _ in range(3):
            await connect("slow", base_url="http://paced/v1", requests_per_minute=30, door=endpoints.door).chat(HELLO, NO_CALL)

    assert 2 * 2 / MARGIN == pytest.approx(anyio.current_time() - began, abs=0.4)


async def test_tokens_have_a_rate_too() -> None:
    """What a request may take is counted: ten seconds' worth goes at once, the rest waits."""
    endpoints, began = Endpoints(), anyio.current_time()
    model = connect("slow", base_url="http://tokens/v1", tokens_per_minute=60, door=endpoints.door)
    for _ in range(2):
        await model.chat(replace(HELLO, max_tokens=1_000), NO_CALL)

    assert anyio.current_time() - began > 1_000


async def test_limits_are_learnt_from_headers() -> None:
    """An endpoint that says that it has nothing left is asked again when it has."""
    headers = {
        "x-ratelimit-limit-requests": "10",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "20s",
    }
    whole = {"choices": [{"message": {"content": "yes"}}]}
    door = HttpDoor(httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, json=whole)))
    model, began = connect("m", base_url="http://headers/v1", door=door), anyio.current_time()
    await model.chat(HELLO, NO_CALL)
    await model.chat(HELLO, NO_CALL)

    assert 2 / MARGIN == pytest.approx(anyio.current_time() - began, abs=0.4)


async def test_nobody_waits_for_a_model_that_others_stand_in_for() -> None:
    """While the first one is known to be down, the second answers at once; the last one is waited for."""
    endpoints = Endpoints(down=("a",))
    async with wired(Settings(), ["http://a/v1#one", "http://b/v1#two"], door=endpoints.door) as models:
        await models.model().chat(HELLO, NO_CALL)
        await models.model().chat(HELLO, NO_CALL)
        began, asked = anyio.current_time(), len(endpoints.seen)
        reply = await models.model().chat(HELLO, NO_CALL)

        assert ("two says hello", 1) == (reply.text, len(endpoints.seen) - asked)
        assert 0 == pytest.approx(anyio.current_time() - began, abs=0.4)

        endpoints.down = ("a", "b")
        async with anyio.create_task_group() as group:
            for _ in range(FAILURES):
                group.start_soon(models.model().chat, HELLO, NO_CALL)
            await anyio.sleep(5)
            endpoints.down = ("a",)


async def test_a_budget_holds_for_a_connected_model() -> None:
    """What a call is paid from bounds it, and the cap that was set aside is sent. Money needs a price."""
    endpoints = Endpoints()
    price = Price(input=Decimal(1), output=Decimal(2))
    dear = connect("m", base_url="http://dear/v1", max_concurrency=1, price=price, door=endpoints.door)
    unknown = connect("m", base_url="http://unknown/v1", door=endpoints.door)
    budget = Budget(Amounts(cost=Decimal("0.0085")), since=anyio.current_time())
    await dear.chat(HELLO, Call(budget=budget))

    assert (CAP, 1) == (json.loads(endpoints.seen[-1].content)["max_tokens"], budget.estimated)
    with pytest.raises(OverBudget):
        await dear.chat(HELLO, Call(budget=budget))
    with pytest.raises(Unpriced):
        await unknown.chat(HELLO, Call(budget=budget))
    assert ((), ("m",)) == (unpriced(dear), unpriced(unknown))
