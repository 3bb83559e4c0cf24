"""Long conversations made shorter: by a model's summary where there is a model for it, and else by leaving out the oldest."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from orchestrator.errors import StepError
from orchestrator.prompts import Hint, summary_text
from orchestrator.summarising import Summariser, Told
from registry.calls import Call
from registry.context import (
    NO_HANDLES,
    Compaction,
    ContextGuard,
    Fitted,
    Growing,
    handle_of,
    is_result,
    message_tokens,
    repaired,
    request_tokens,
    units,
)
from registry.messages import Message, SystemMessage, ToolSpec, UserMessage
from registry.models.model import Model
from registry.origins import joined
from registry.usage import Usage

LEAST_GAIN = 0.2
"""The part of what it replaces that a summary must save."""

MOST_IN_VAIN = 2
"""So often in a row may a summary save too little, or a request for one fail."""

WORTH_IT = 0.125
"""The part of the room from which on a stretch is worth a model call."""

MOST_SHARE = 0.25
"""The part of the room that a summary may take, or else it would soon have to go itself."""


class NothingGained(StepError):
    """Twice in a row a summary was hardly shorter than what it was to replace, as that would have been sent. In tokens.

    `usage` is what the second one cost.
    """

    def __init__(self, before: int, after: int, *, usage: Usage) -> None:
        super().__init__(f"the conversation can't be made shorter: the summary of {before} tokens took {after}")
        self.before, self.after, self.usage = before, after, usage


class _Stretch(Struct, frozen=True, kw_only=True):
    """Messages that follow each other in a conversation, the first at `begin`, and what stands for them: pins stay themselves.

    `most` is the tokens that a summary of them may take.
    """

    begin: int
    messages: tuple[Message, ...]
    most: int
    summary: Message | None = None

    @property
    def end(self) -> int:
        return self.begin + len(self.messages)

    @property
    def replaced(self) -> tuple[Message, ...]:
        return tuple(message for message in self.messages if not _is_pin(message))

    @property
    def shown(self) -> tuple[Message, ...]:
        assert self.summary is not None
        return (self.summary, *filter(_is_pin, self.messages))


class Compactor:
    """One conversation's own, for it keeps the summaries. Each is made once, and of messages only, never of another summary.

    `model` writes them; a run passes one that journals, so that a resumed run finds them again. None for no summaries.
    """

    def __init__(self, model: Model | None, guard: ContextGuard) -> None:
        self._model, self._guard, self._growing = model, guard, Growing(guard)
        self._told: list[_Stretch] = []
        self._poor = self._failed = self._left_out = 0

    async def fitted(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        call: Call,
        *,
        hint: Hint = "react_iteration",
        handles: Mapping[str, str] = NO_HANDLES,
    ) -> Fitted:
        """The conversation as it may be sent in its next lap. `messages` is all of it, each time; `handles` as for the guard.

        Where some of it would have to go, the model tells the oldest in short; `hint` says to it what for. What it can't do,
        or not well, the guard does. `compaction` is told when more is left out than the time before. Raises `NothingGained`
        and, as the guard does, `WindowExceeded`.
        """
        whole = tuple(messages)
        if self._told:
            whole = repaired(whole)
            self._told = [past for past in self._told if whole[past.begin : past.end] == past.messages]
        fitted = self._governed(whole, tools, handles)
        if fitted.compaction is None and not self._told:  # as in nearly all laps
            return fitted
        whole, usage = repaired(whole), Usage()
        due = None if fitted.compaction is None else self._due(whole, tools)
        if due is not None and self._model is not None and self._failed < MOST_IN_VAIN:
            told = await Summariser(self._model).tell(due.replaced, hint, aim=_aim(whole), most=due.most, call=call)
            usage = self._take_in(due, told, handles)
            fitted = self._governed(whole, tools, handles)
        return replace(fitted, usage=usage, compaction=self._news(whole, fitted))

    def _governed(self, view: tuple[Message, ...], tools: Sequence[ToolSpec], handles: Mapping[str, str]) -> Fitted:
        for past in reversed(self._told):
            view = (*view[: past.begin], *past.shown, *view[past.end :])
        return self._growing.govern(view, tools, handles=handles)

    def _due(self, whole: Sequence[Message], tools: Sequence[ToolSpec]) -> _Stretch | None:
        """What to tell in short: all that is not yet, but for the newest messages, for which half of the room is left.

        None where that is too little to be worth a model call.
        """
        assert self._guard.budget is not None
        room = self._guard.budget - request_tokens((), tools)
        begin = self._told[-1].end if self._told else _head(whole)
        newest, *older = reversed(units(whole))
        end, left = len(whole) - len(newest), room // 2 - request_tokens(newest)
        for unit in older:
            left -= request_tokens(unit)
            if left < 0:
                break
            end -= len(unit)
        due = _Stretch(begin=begin, messages=tuple(whole[begin:end]), most=int(MOST_SHARE * room))
        return due if request_tokens(due.replaced) > WORTH_IT * room else None

    def _take_in(self, due: _Stretch, told: Told, handles: Mapping[str, str]) -> Usage:
        """Let the summary stand for the stretch if it is any good. Returns what it cost."""
        if not told.text:
            self._failed += 1
            return told.usage
        self._failed = 0
        summary = _summary(told.text, due.replaced, handles)
        before, after = request_tokens(self._guard.govern(due.replaced).messages), message_tokens(summary)
        if after <= min(due.most, (1 - LEAST_GAIN) * before):
            self._poor = 0
            self._told.append(replace(due, summary=summary))
            return told.usage
        self._poor += 1
        if self._poor == MOST_IN_VAIN:
            raise NothingGained(before, after, usage=told.usage)
        return told.usage

    def _news(self, whole: Sequence[Message], fitted: Fitted) -> Compaction | None:
        trimmed = fitted.compaction
        left_out = sum(len(past.replaced) for past in self._told)
        if trimmed is not None:
            left_out += trimmed.original_messages - trimmed.kept_messages
        if left_out <= self._left_out:
            return None
        self._left_out = left_out
        return Compaction(original_messages=len(whole), kept_messages=max(0, len(whole) - left_out))


def _summary(text: str, replaced: Sequence[Message], handles: Mapping[str, str]) -> Message:
    known = [handle_of(message, handles) for message in replaced if is_result(message)]
    told = summary_text(text, count=len(replaced), handles=[handle for handle in known if handle])
    return UserMessage(text=told, origins=joined(*(message.origins for message in replaced)))


def _head(whole: Sequence[Message]) -> int:
    """Where what may be told in short begins."""
    stays = (at for at, message in enumerate(whole) if not isinstance(message, SystemMessage) and not _is_pin(message))
    return next(stays, len(whole))


def _aim(whole: Sequence[Message]) -> str:
    """What the conversation is about: its first pin."""
    return next((message.text for message in whole if _is_pin(message)), "")


def _is_pin(message: Message) -> bool:
    return isinstance(message, UserMessage) and message.pinned
