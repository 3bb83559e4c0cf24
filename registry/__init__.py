"""What a run may call: models, tools, structured calls. Has never heard of a plan. The public names of the package."""

from typing import TYPE_CHECKING

from registry.lazy import lazily

if TYPE_CHECKING:
    from registry.anthropic import AnthropicModel
    from registry.budget import Amounts, Budget
    from registry.builtin import ask_user, builtin_tools
    from registry.calls import Call
    from registry.context import ContextGuard
    from registry.errors import DagwrightError, ModelError, ToolDenied, ToolError, ToolFailed, TryAgain
    from registry.http import HttpDoor
    from registry.messages import Reply, Request, ToolCall
    from registry.models.model import Model
    from registry.models.prices import Price
    from registry.models.registry import ModelRegistry
    from registry.openai import OpenAIModel
    from registry.recording import RecordedModel
    from registry.structured import StructuredCallResult, extract_json, structured_llm_call
    from registry.tools.artifacts import Artifact
    from registry.tools.function import tool
    from registry.tools.registry import ToolRegistry
    from registry.tools.tool import ABSENT, Observation, Tool
    from registry.usage import Usage

__all__ = [
    "ABSENT",
    "Amounts",
    "AnthropicModel",
    "Artifact",
    "Budget",
    "Call",
    "ContextGuard",
    "DagwrightError",
    "HttpDoor",
    "Model",
    "ModelError",
    "ModelRegistry",
    "Observation",
    "OpenAIModel",
    "Price",
    "RecordedModel",
    "Reply",
    "Request",
    "StructuredCallResult",
    "Tool",
    "ToolCall",
    "ToolDenied",
    "ToolError",
    "ToolFailed",
    "ToolRegistry",
    "TryAgain",
    "Usage",
    "ask_user",
    "builtin_tools",
    "extract_json",
    "structured_llm_call",
    "tool",
]

__getattr__ = lazily(
    __name__,
    {
        "ABSENT": "tools.tool",
        "Amounts": "budget",
        "AnthropicModel": "anthropic",
        "Artifact": "tools.artifacts",
        "Budget": "budget",
        "Call": "calls",
        "ContextGuard": "context",
        "DagwrightError": "errors",
        "HttpDoor": "http",
        "Model": "models.model",
        "ModelError": "errors",
        "ModelRegistry": "models.registry",
        "Observation": "tools.tool",
        "OpenAIModel": "openai",
        "Price": "models.prices",
        "RecordedModel": "recording",
        "Reply": "messages",
        "Request": "messages",
        "StructuredCallResult": "structured",
        "Tool": "tools.tool",
        "ToolCall": "messages",
        "ToolDenied": "errors",
        "ToolError": "errors",
        "ToolFailed": "errors",
        "ToolRegistry": "tools.registry",
        "TryAgain": "errors",
        "Usage": "usage",
        "ask_user": "builtin",
        "builtin_tools": "builtin",
        "extract_json": "structured",
        "structured_llm_call": "structured",
        "tool": "tools.function",
    },
)
