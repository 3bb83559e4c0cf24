"""Models behind any endpoint that speaks the OpenAI chat-completions protocol, hosted or local."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from functools import partial

from pydantic import SecretStr

from registry.calls import Call
from registry.errors import Garbled, ModelError
from registry.exchange import Exchange, revealed, strike_out
from registry.governor.retry import cost_of
from registry.http import TIMEOUTS, HttpDoor, Timeouts, address
from registry.messages import Piece, Reply, Request
from registry.models.model import Abilities
from registry.wire.assembler import Assembler
from registry.wire.decoding import decoded
from registry.wire.faults import fault
from registry.wire.legal import legal
from registry.wire.lift import lift
from registry.wire.naming import naming
from registry.wire.rules import COMPATIBLE, WireRules
from registry.wire.wording import Wording

PROBE = Timeouts(connect=1.0, first_byte=3.0, idle=3.0)
"""For asking whether a server is there at all."""


class OpenAIModel:
    """A `Model` at `base_url`, such as `https://api.openai.com/v1`, known there as `model`.

    Without `abilities` it is taken to have what its `rules` say. Where the endpoint refuses a part of a request that can be
    said otherwise or left out, the request is sent anew at once, and from then on so the first time, whichever object asks.
    Nothing else is ever repeated: that is the caller's.
    """

    punctual = True
    """Every wait of its own ends with the call's deadline: see `ModelLayer`."""

    def __init__(
        self,
        name: str,
        *,
        model: str,
        base_url: str,
        api_key: SecretStr | None,
        door: HttpDoor,
        rules: WireRules = COMPATIBLE,
        abilities: Abilities | None = None,
        context_window: int | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts = TIMEOUTS,
    ) -> None:
        self._name, self._longest_name = name, rules.longest_name
        self._abilities = abilities if abilities is not None else _abilities(rules)
        self._context_window = context_window
        base, secret = _base(base_url), revealed(api_key)
        self._wording = partial(Wording, endpoint=address(base), model=model, rules=rules)
        self._exchange = Exchange(
            door=door,
            url=f"{base}/chat/completions",
            endpoint=address(base),
            headers={"content-type": "application/json", **_authorization(secret), **(headers or {})},
            secret=secret,
            fault=partial(fault, address(base), model=model),
            timeouts=timeouts,
        )

    @property
    def name(self) -> str:
        return self._name

    @property
    def endpoint(self) -> str:
        return self._exchange.endpoint

    @property
    def abilities(self) -> Abilities:
        return self._abilities

    @property
    def context_window(self) -> int | None:
        return self._context_window

    async def chat(self, request: Request, call: Call) -> Reply:
        """One reply, whole. Raises a `ModelError`, and IllegalRequest for a transcript that must not be sent."""
        made = legal(request.messages)
        names = naming(request.tools, made, self._longest_name)
        wording = self._wording(names.lowered(request))
        read = partial(lift, endpoint=self._exchange.endpoint, taken=[each.id for each in made])
        while True:
            try:
                reply = await self._exchange.whole(wording.body, call, lift=read)
                return names.lifted(wording.taken(reply))
            except ModelError as error:
                if not wording.amended(error):
                    raise
                await _ask_leave(call, error)

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        """The reply piece by piece, the whole of it last. Raises as `chat` does, and Truncated when a reply breaks off."""
        made = legal(request.messages)
        names = naming(request.tools, made, self._longest_name)
        wording = self._wording(names.lowered(request), stream=True)
        taken = [each.id for each in made]
        read = partial(lift, endpoint=self._exchange.endpoint, taken=taken)
        while True:
            assembler = Assembler(self._exchange.endpoint, taken)
            sent = self._exchange.pieces(wording.body, call, assembler=assembler, lift=read)
            try:
                async with aclosing(sent) as pieces:
                    async for piece in pieces:
                        yield names.lifted(wording.taken(piece))
                return
            except ModelError as error:
                if not wording.amended(error):
                    raise
                await _ask_leave(call, error)


async def served_models(door: HttpDoor, base_url: str, api_key: SecretStr | None) -> tuple[str, ...]:
    """The names of the models that an endpoint serves. Raises a `ModelError` within seconds when nobody answers."""
    base, secret = _base(base_url), revealed(api_key)
    answer = await door.get(f"{base}/models", _authorization(secret), timeouts=PROBE)
    if not 200 <= answer.status < 300:
        error = fault(address(base), answer.status, answer.headers, answer.body)
        strike_out(secret, error)
        raise error
    listed = decoded(answer.body, address(base))
    entries = listed.get("data") if isinstance(listed, dict) else listed
    if not isinstance(entries, list):
        raise Garbled(address(base), "a list of models was due")
    return tuple(entry["id"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str))


async def _ask_leave(call: Call, refusal: ModelError) -> None:
    """Before a request is sent anew. Where that is not allowed, the call ends here, at the cost of what was refused."""
    if call.again is not None:
        try:
            await call.again()
        except ModelError as error:
            error.usage = cost_of(refusal)
            raise


def _abilities(rules: WireRules) -> Abilities:
    return {"tool_call": True, "json_mode": True, "json_schema": rules.json_schema}


def _base(url: str) -> str:
    return url.strip().rstrip("/").removesuffix("/chat/completions").rstrip("/")


def _authorization(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"} if secret else {}
