"""Typed answers from models."""

from typing import TYPE_CHECKING

from registry.lazy import lazily

if TYPE_CHECKING:
    from registry.structured.calls import StructuredCallResult, structured_llm_call
    from registry.structured.extract import Extracted, Unreadable, extract_json

__all__ = ["Extracted", "StructuredCallResult", "Unreadable", "extract_json", "structured_llm_call"]

__getattr__ = lazily(
    __name__,
    {
        "Extracted": "extract",
        "StructuredCallResult": "calls",
        "Unreadable": "extract",
        "extract_json": "extract",
        "structured_llm_call": "calls",
    },
)
