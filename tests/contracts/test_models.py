"""Every provider's model keeps the contract."""

from collections.abc import Mapping

import httpx
import orjson
import pytest
from pydantic import SecretStr

from registry.anthropic import AnthropicModel
from registry.http import HttpDoor
from registry.messages import Finish, Json
from registry.models.model import Model
from registry.openai import OpenAIModel
from tests.contracts.model import KEY, Handler, ModelContract, Provider, Said

pytestmark = pytest.mark.anyio


def slices(text: str) -> list[str]:
    return [text[at : at + 5] for at in range(0, len(text), 5)]


def event(value: Json, name: str = "") -> bytes:
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + orjson.dumps(value) + b"\n\n"


class OpenAI(Provider):
    """The words of chat completions."""

    finishes: Mapping[Finish, str] = {
        "stop": "stop",
        "tool_calls": "tool_calls",
        "length": "length",
        "refused": "content_filter",
    }
    usage = {"prompt_tokens": 11, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}

    def model(self, handle: Handler) -> Model:
        door = HttpDoor(httpx.MockTransport(handle))
        return OpenAIModel("x:m", model="m", base_url="https://x/v1", api_key=SecretStr(KEY), door=door)

    def whole(self, said: Said) -> bytes:
        message: dict[str, Json] = {"role": "assistant", "content": said.text or None}
        if said.reasoning:
            message["reasoning_content"] = said.reasoning
        if said.calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in said.calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": self.finishes[said.finish]}
        return orjson.dumps({"model": "m-1", "choices": [choice], "usage": self.usage})

    def events(self, said: Said) -> list[bytes]:
        deltas: list[Json] = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning_content": part} for part in slices(said.reasoning)]
        deltas += [{"content": part} for part in slices(said.text)]
        for index, call in enumerate(said.calls):
            begun = {"index": index, "id": call.id, "function": {"name": call.name, "arguments": ""}}
            deltas.append({"tool_calls": [begun]})
            deltas += [{"tool_calls": [{"index": index, "function": {"arguments": part}}]} for part in slices(call.arguments)]
        events = [self._chunk(delta) for delta in deltas]
        events.append(self._chunk({}, self.finishes[said.finish]))
        return [*events, event({"choices": [], "usage": self.usage}), b"data: [DONE]\n\n"]

    def _chunk(self, delta: Json, finish: str | None = None) -> bytes:
        return event({"model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def error(self, status: int, words: str) -> bytes:
        return orjson.dumps({"error": {"message": words, "code": status}})

    def error_event(self, words: str) -> bytes:
        return event({"error": {"message": words, "code": 503}})

    def too_long(self) -> bytes:
        return orjson.dumps({"error": {"message": "too much", "code": "context_length_exceeded"}})

    def results(self, body: Json) -> list[tuple[str, str]]:
        return [(said["tool_call_id"], said["content"]) for said in body["messages"] if said["role"] == "tool"]


class Anthropic(Provider):
    """The words of the Messages API."""

    finishes: Mapping[Finish, str] = {
        "stop": "end_turn",
        "tool_calls": "tool_use",
        "length": "max_tokens",
        "refused": "refusal",
    }
    errors: Mapping[int, str] = {
        400: "invalid_request_error",
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        429: "rate_limit_error",
        500: "api_error",
        529: "overloaded_error",
    }
    before = {"input_tokens": 7, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 0, "output_tokens": 1}

    def model(self, handle: Handler) -> Model:
        door = HttpDoor(httpx.MockTransport(handle))
        return AnthropicModel("x:m", model="m", base_url="https://x", api_key=SecretStr(KEY), door=door)

    def whole(self, said: Said) -> bytes:
        content: list[Json] = []
        if said.reasoning:
            content.append({"type": "thinking", "thinking": said.reasoning, "signature": "c2ln"})
        if said.text:
            content.append({"type": "text", "text": said.text})
        content += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": orjson.loads(call.arguments)} for call in said.calls
        ]
        ended = {"stop_reason": self.finishes[said.finish], "stop_sequence": None}
        return orjson.dumps({**self._message(content, {**self.before, "output_tokens": 5}), **ended})

    def _message(self, content: Json, usage: Json) -> dict[str, Json]:
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": content, "usage": usage}

    def events(self, said: Said) -> list[bytes]:
        events = [self._event("message_start", message=self._message([], self.before)), self._event("ping")]
        blocks: list[tuple[Json, list[Json]]] = []
        if said.reasoning:
            thoughts: list[Json] = [{"type": "thinking_delta", "thinking": part} for part in slices(said.reasoning)]
            signature = {"type": "signature_delta", "signature": "c2ln"}
            blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, [*thoughts, signature]))
        if said.text:
            blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": part} for part in slices(said.text)]))
        for call in said.calls:
            parts = ["", *slices(call.arguments)]
            begun = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
            blocks.append((begun, [{"type": "input_json_delta", "partial_json": part} for part in parts]))
        for index, (block, deltas) in enumerate(blocks):
            events.append(self._event("content_block_start", index=index, content_block=block))
            events += [self._event("content_block_delta", index=index, delta=delta) for delta in deltas]
            events.append(self._event("content_block_stop", index=index))
        ended = {"stop_reason": self.finishes[said.finish], "stop_sequence": None}
        return [*events, self._event("message_delta", delta=ended, usage={"output_tokens": 5}), self._event("message_stop")]

    def _event(self, kind: str, **fields: Json) -> bytes:
        return event({"type": kind, **fields}, kind)

    def error(self, status: int, words: str) -> bytes:
        return orjson.dumps({"type": "error", "error": {"type": self.errors[status], "message": words}, "request_id": "req_1"})

    def error_event(self, words: str) -> bytes:
        return self._event("error", error={"type": "overloaded_error", "message": words})

    def too_long(self) -> bytes:
        return self.error(400, "prompt is too long: 208310 tokens > 200000 maximum")

    def results(self, body: Json) -> list[tuple[str, str]]:
        blocks = [block for said in body["messages"] for block in said["content"]]
        return [(block["tool_use_id"], block["content"]) for block in blocks if block["type"] == "tool_result"]


class TestModels(ModelContract):
    @pytest.fixture(params=[pytest.param(OpenAI, id="openai"), pytest.param(Anthropic, id="anthropic")])
    def provider(self, request: pytest.FixtureRequest) -> Provider:
        provider: Provider = request.param()
        return provider
