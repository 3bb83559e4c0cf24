"""Texts that are too long for their place, told in short by a model."""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from orchestrator.prompts import Hint, compaction_messages, condensing_messages, short_text
from planner.planning import Condensed, Found
from registry.calls import Call
from registry.context import ContextGuard, estimate_tokens, fit_texts
from registry.errors import ModelError
from registry.messages import Message, Request
from registry.models.model import Model
from registry.origins import Origins, joined
from registry.usage import Usage

MOST_WORDS = 500
"""Words that a summary is to have at most."""

REPLY_TOKENS = 4_096
"""What the model may take for it, thoughts included."""

LEAST_TOKENS = 100
"""A smaller place is not worth a summary, nor the beginning of a text beside its summary."""


class Told(Struct, frozen=True, kw_only=True):
    """A summary, empty where there is none that is any good; what it cost, and the seconds that its request queued.

    `absent` says that there was no model to be had.
    """

    text: str = ""
    usage: Usage = Usage()
    waited: float = 0.0
    absent: bool = False


class Summariser(Struct, frozen=True):
    """Tells texts in short by a model. `reply_tokens` caps its replies where they are to be shorter than they may be anyway."""

    model: Model
    reply_tokens: int | None = None

    async def tell(self, told: Sequence[Message], hint: Hint, *, aim: str, most: int, call: Call) -> Told:
        """A summary of a conversation, in so few words that it takes no more than `most` tokens, if the model keeps to that.

        `hint` says what it is for, and `aim` what the conversation is about. Where the model can't be had there is none.
        """
        return await self._asked(partial(compaction_messages, told, hint, aim=aim), most, call)

    async def shorten(self, text: str, cut: str, *, aim: str, origins: Origins, call: Call) -> Told:
        """A result for a step that needs it, in the place that `cut` takes: told in short, and begun where there is room beside.

        What the model can't tell so that it fits stays cut.
        """
        most = estimate_tokens(cut)
        if most < LEAST_TOKENS:
            return Told(text=cut)
        question = partial(condensing_messages, [text], "step_dependency", aim=aim, origins=origins)
        told = await self._asked(question, most, call)
        short = short_text(told.text, characters=len(text)) if told.text else ""
        room = most - estimate_tokens(short)
        if not short or room < 0:
            return replace(told, text=cut)
        (beginning,) = fit_texts([text], room) if room > LEAST_TOKENS else [""]
        whole = f"{short}\n\n{beginning}" if beginning else short
        return replace(told, text=whole if estimate_tokens(whole) <= most else short)

    async def condense(self, found: Sequence[Found], aim: str, most: int, call: Call) -> Condensed:
        """What steps found, for the planner, who can't read all of it."""
        texts, origins = [f"Result of {each.step}:\n{each.text}" for each in found], joined(*(each.origins for each in found))
        told = await self._asked(partial(condensing_messages, texts, "planner_input", aim=aim, origins=origins), most, call)
        return Condensed(text=told.text, usage=told.usage)

    async def _asked(self, question: Callable[..., tuple[Message, ...]], most: int, call: Call) -> Told:
        """The answer to the question, which is asked in so many `words` and with a `budget` of tokens for what it holds."""
        window = self.model.context_window
        messages = question(words=min(MOST_WORDS, most // 3), budget=None if window is None else window // 2)
        try:
            sent = ContextGuard(window).fit(messages).messages
            request = Request(messages=sent, max_tokens=min(REPLY_TOKENS, self.reply_tokens or REPLY_TOKENS))
            reply = await self.model.chat(request, replace(call, purpose="compaction"))
        except ModelError as error:
            return Told(usage=error.usage, absent=True)
        return Told(text=reply.text.strip() if reply.finish == "stop" else "", usage=reply.usage, waited=reply.waited)
