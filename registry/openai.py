"""Models behind any endpoint that speaks the OpenAI chat-completions protocol, hosted or local."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing

import anyio
from pydantic import SecretStr

from registry.calls import Call
from registry.errors import Garbled, Truncated, Unreachable
from registry.http import TIMEOUTS, AnswerStream, HttpDoor, Timeouts, address
from registry.messages import AssistantMessage, Piece, Reply, Request, TextPiece
from registry.models.model import Abilities
from registry.wire.assembler import Assembler
from registry.wire.faults import fault
from registry.wire.legal import legal
from registry.wire.lift import decoded, lift
from registry.wire.lower import lower
from registry.wire.rules import COMPATIBLE, WireRules

PROBE = Timeouts(connect=1.0, first_byte=3.0, idle=3.0)
"""For asking whether a server is there at all."""

PARTING = 0.1
"""Seconds that an endpoint has to close a stream after it said that it is done."""


class OpenAIModel:
    """A `Model` at `base_url`, such as `https://api.openai.com/v1`, known there as `model`.

    Without `abilities` it is taken to have what its `rules` say. It never repeats a request: that is the caller's.
    """

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
        self._name, self._model, self._door, self._rules, self._timeouts = name, model, door, rules, timeouts
        self._abilities = abilities if abilities is not None else _abilities(rules)
        self._context_window = context_window
        self._url = f"{_base(base_url)}/chat/completions"
        self._endpoint = address(_base(base_url))
        self._secret = _secret(api_key)
        self._headers = {"content-type": "application/json", **_authorization(self._secret), **(headers or {})}

    @property
    def name(self) -> str:
        return self._name

    @property
    def abilities(self) -> Abilities:
        return self._abilities

    @property
    def context_window(self) -> int | None:
        return self._context_window

    async def chat(self, request: Request, call: Call) -> Reply:
        """One reply, whole. Raises a `ModelError`, and IllegalRequest for a transcript that must not be sent."""
        legal(request.messages)
        body = lower(request, model=self._model, rules=self._rules)
        answer = await self._door.post(self._url, self._headers, body, deadline=call.deadline, timeouts=self._timeouts)
        self._check(answer.status, answer.headers, answer.body)
        return lift(answer.body, endpoint=self._endpoint, taken=_call_ids(request))

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        """The reply piece by piece, the whole of it last. Raises as `chat` does, and Truncated when a reply breaks off."""
        legal(request.messages)
        body = lower(request, model=self._model, rules=self._rules, stream=True)
        door = self._door.stream(self._url, self._headers, body, deadline=call.deadline, timeouts=self._timeouts)
        async with door as answer:
            if not _streams(answer):
                for piece in await self._unstreamed(answer, request):
                    yield piece
                return
            async with aclosing(self._pieces(answer.chunks, Assembler(self._endpoint, _call_ids(request)))) as pieces:
                async for piece in pieces:
                    yield piece

    async def _unstreamed(self, answer: AnswerStream, request: Request) -> tuple[Piece, ...]:
        """An error, or the reply of an endpoint that doesn't stream."""
        body = b"".join([chunk async for chunk in answer.chunks])
        self._check(answer.status, answer.headers, body)
        reply = lift(body, endpoint=self._endpoint, taken=_call_ids(request))
        return (TextPiece(reply.text), reply) if reply.text else (reply,)

    async def _pieces(self, chunks: AsyncIterator[bytes], assembler: Assembler) -> AsyncGenerator[Piece, None]:
        try:
            async for chunk in chunks:
                for piece in assembler.read(chunk):
                    yield piece
                if assembler.done:
                    await _finished(chunks)
                    break
        except Unreachable as error:
            if not assembler.complete:
                broken = Truncated if assembler.begun else Unreachable
                raise broken(self._endpoint, error.why, usage=assembler.usage) from error
        held, reply = assembler.reply()
        for late in (*held, reply):
            yield late

    def _check(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        if 200 <= status < 300:
            return
        # Some endpoints quote the key that they did not like.
        body = body.replace(self._secret.encode(), b"***") if self._secret else body
        raise fault(self._endpoint, status, headers, body, model=self._model)


async def served_models(door: HttpDoor, base_url: str, api_key: SecretStr | None) -> tuple[str, ...]:
    """The names of the models that an endpoint serves. Raises a `ModelError` within seconds when nobody answers."""
    base, secret = _base(base_url), _secret(api_key)
    answer = await door.get(f"{base}/models", _authorization(secret), timeouts=PROBE)
    if not 200 <= answer.status < 300:
        body = answer.body.replace(secret.encode(), b"***") if secret else answer.body
        raise fault(address(base), answer.status, answer.headers, body)
    listed = decoded(answer.body, address(base))
    entries = listed.get("data") if isinstance(listed, dict) else listed
    if not isinstance(entries, list):
        raise Garbled(address(base), "a list of models was due")
    return tuple(entry["id"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str))


async def _finished(chunks: AsyncIterator[bytes]) -> None:
    """Read the end of a body of which nothing more is wanted, so that its connection can serve again."""
    with anyio.move_on_after(PARTING):
        async for _ in chunks:
            pass


def _streams(answer: AnswerStream) -> bool:
    """Whether events follow. Some endpoints name no media type, so what is none of the others counts as a stream."""
    media = answer.headers.get("content-type", "")
    return 200 <= answer.status < 300 and "json" not in media and "html" not in media


def _abilities(rules: WireRules) -> Abilities:
    return {"tool_call": True, "json_mode": True, "json_schema": rules.json_schema}


def _base(url: str) -> str:
    return url.strip().rstrip("/").removesuffix("/chat/completions").rstrip("/")


def _secret(key: SecretStr | None) -> str:
    return key.get_secret_value().strip() if key else ""


def _authorization(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"} if secret else {}


def _call_ids(request: Request) -> set[str]:
    return {call.id for message in request.messages if isinstance(message, AssistantMessage) for call in message.calls}
