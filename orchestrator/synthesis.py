"""Merges the results of a plan into one streamed answer. It is never empty, and never shown twice."""

from collections.abc import Sequence
from contextlib import aclosing

import anyio
from msgspec.structs import replace

from orchestrator.events.facts import AnswerWritten
from orchestrator.events.glimpses import AnswerBegan, AnswerPiece, AnswerReset
from orchestrator.hooks import Hook
from orchestrator.journalled import JournalledModel
from orchestrator.ledger import Ledger
from orchestrator.limits import Limits
from orchestrator.prompts import lacking, synthesis_messages, unwritten
from orchestrator.spending.calls import paid
from planner import BrokenReference, Plan, ToolStep
from planner.prompts import origins_of
from planner.references import only, quoted, rendered, resolve
from planner.results import Failed, Missing, Results, Succeeded, Verdict
from registry.budget import Budget
from registry.calls import Call
from registry.context import ContextGuard, fit_texts
from registry.errors import ModelError, Truncated
from registry.messages import Piece, Reply, Request, Reset, TextPiece
from registry.models.model import Model

CUT_OFF = "\n\n[The answer was cut off here by the model's limit.]"


class _Shown:
    """What watchers have seen of the answer: its parts and offsets."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._part, self._offset = ledger, 0, 0
        ledger.glimpse(AnswerBegan())

    def piece(self, text: str) -> None:
        if text:
            self._ledger.glimpse(AnswerPiece(text=text, part=self._part, offset=self._offset))
            self._offset += len(text)

    def restart(self, why: str) -> None:
        """What was shown is void; nothing to say when nothing was shown."""
        if self._offset:
            self._part, self._offset = self._part + 1, 0
            self._ledger.glimpse(AnswerReset(why=why, part=self._part))


class Synthesis:
    """Writes the answer of a run: with one model call, or with none where the plan names the step whose output it is."""

    def __init__(self, model: Model, ledger: Ledger, *, hooks: Hook, limits: Limits, budget: Budget | None = None) -> None:
        self._model, self._ledger, self._hooks, self._limits, self._budget = model, ledger, hooks, limits, budget

    async def write(self, plan: Plan, results: Results, verdict: Verdict, *, said: Sequence[str] = ()) -> AnswerWritten:
        """The answer, streamed to watchers on the way. Falls back to the judge's answer, then to the results themselves.

        `said` is what the user said while the goal was being met.
        """
        shown = _Shown(self._ledger)
        named = self._named_output(plan, results)
        if named is not None:
            shown.piece(named.text)
            return named
        try:
            reply = await self._streamed(self._request(plan, results, verdict, said), shown)
        except ModelError as error:
            return replace(_fallback(shown, results, verdict, why=str(error)), usage=error.usage)
        if not reply.text.strip():
            return replace(_fallback(shown, results, verdict, why="the model wrote nothing"), usage=reply.usage)
        mark = CUT_OFF if reply.finish == "length" else ""
        shown.piece(mark)
        return AnswerWritten(text=reply.text + mark, by=reply.model or self._model.name, usage=reply.usage)

    def _named_output(self, plan: Plan, results: Results) -> AnswerWritten | None:
        """The output of the step that the plan names, if there is any: otherwise the answer is made from what exists."""
        if plan.output is None:
            return None
        reference = only(plan.output)
        if reference is None or not isinstance(results.get(reference.name), Succeeded):
            return None
        try:
            text = rendered(resolve(plan.output, inputs={}, results=results).value)
        except BrokenReference:
            return None
        return AnswerWritten(text=text, by=f"step:{reference.name}") if text.strip() else None

    def _request(self, plan: Plan, results: Results, verdict: Verdict, said: Sequence[str]) -> Request:
        material = _material(plan, results)
        names = [step_id for step_id, result in results.items() if _tells(result) and step_id not in material]
        texts = [_told(results[name]) for name in names]
        window = self._window
        if window is not None:
            texts = fit_texts(texts, window // 2)
        told = list(zip(names, texts, strict=True))
        messages = synthesis_messages(plan.goal, told, verdict, origins_of(results), said=said)
        fitted = ContextGuard(window).fit(messages)
        return Request(messages=fitted.messages, max_tokens=self._limits.answer_tokens)

    @property
    def _window(self) -> int | None:
        """The model's, in tokens, or less where less is left to spend."""
        left = None if self._budget is None else self._budget.left(anyio.current_time()).tokens
        return min((each for each in (self._model.context_window, left) if each is not None), default=None)

    async def _streamed(self, request: Request, shown: _Shown) -> Reply:
        model = JournalledModel(self._model, self._ledger)
        call = paid(Call(run=self._ledger.run, scope="synthesis", purpose="synthesis", label="synthesis"), self._budget)
        async with aclosing(model.stream_chat(request, call)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Reply):
                    return piece
                await self._hooks.on_stream(piece, call)
                _show(piece, shown)
        raise Truncated(self._model.name, "the stream ended without a reply")


def _show(piece: Piece, shown: _Shown) -> None:
    match piece:
        case TextPiece(text=text):
            shown.piece(text)
        case Reset(why=why):
            shown.restart(why)
        case _:
            pass


def _material(plan: Plan, results: Results) -> set[str]:
    """What tools fetched for steps that succeeded and that quote it: those steps have said what there is in it."""
    fetched = {step.id for step in plan.steps if isinstance(step, ToolStep)}
    said = {name for step in plan.steps if isinstance(results.get(step.id), Succeeded) for name in quoted(step)}
    return fetched & said


def _tells(result: object) -> bool:
    return isinstance(result, Succeeded) or (isinstance(result, Failed) and bool(result.output))


def _told(result: object) -> str:
    match result:
        case Succeeded(output=output):
            return output
        case Failed(output=output, message=message):
            return f"(incomplete: {message})\n{output}"
        case _:
            return ""


def _fallback(shown: _Shown, results: Results, verdict: Verdict, *, why: str) -> AnswerWritten:
    shown.restart(why)
    text = verdict.final_answer.strip() or unwritten(results)
    text += lacking(verdict.missing) if isinstance(verdict, Missing) else ""
    shown.piece(text)
    return AnswerWritten(text=text, by="fallback")
