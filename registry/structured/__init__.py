"""Typed answers from models."""

from registry.structured.calls import StructuredCallResult, structured_llm_call
from registry.structured.extract import Extracted, Unreadable, extract_json

__all__ = ["Extracted", "StructuredCallResult", "Unreadable", "extract_json", "structured_llm_call"]
