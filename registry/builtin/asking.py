"""Asking the user, for what an agent can't find out and nobody else can tell it."""

from typing import Annotated

from pydantic import Field

from registry.errors import ToolFailed
from registry.tools.function import tool


# Keyed, so that a step that is tried again does not ask again.
@tool(effect="keyed", concurrent=True, trusted=True, answered_by_user=True)
async def ask_user(question: Annotated[str, Field(pattern=r"\S", description="in full: they see nothing else")]) -> str:
    """Ask the user a question, and wait for the answer, which may take days: only for what nobody else can know."""
    raise ToolFailed("ask_user", f"there is nobody here to answer {question!r}")
