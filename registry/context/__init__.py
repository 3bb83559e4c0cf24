"""Keeping what is sent to a model inside its window, and legal.

Tokens are estimated, not counted: a tokenizer for every model would cost more than the few per cent it wins. Everything here
is pure and works on copies; the record of a conversation is never edited.
"""

from registry.context.condensing import handle_of
from registry.context.cutting import LONGEST_RESULT, READ_RESULT, cut, fit_texts, previewed
from registry.context.estimating import estimate_tokens, message_tokens, request_tokens
from registry.context.framing import framed, tag
from registry.context.growing import Growing
from registry.context.guard import NO_HANDLES, Compaction, ContextGuard, Fitted
from registry.context.pairing import NO_RESULT, is_result, repaired, units

__all__ = [
    "LONGEST_RESULT",
    "NO_HANDLES",
    "NO_RESULT",
    "READ_RESULT",
    "Compaction",
    "ContextGuard",
    "Fitted",
    "Growing",
    "cut",
    "estimate_tokens",
    "fit_texts",
    "framed",
    "handle_of",
    "is_result",
    "message_tokens",
    "previewed",
    "repaired",
    "request_tokens",
    "tag",
    "units",
]
