"""The reason-act-observe loop: one loop, two dialects. It only routes; the rooms beside it decide."""

from collections.abc import Sequence

import anyio
from msgspec.structs import replace

from orchestrator.batch import observe_all
from orchestrator.dialects import Act, Conclude, Garbled, Reading
from orchestrator.errors import BudgetExhausted, DeniedByHook, StepError
from orchestrator.events.facts import PhaseBegan
from orchestrator.events.glimpses import Concluding, ThinkingBegan
from orchestrator.interrupts import InterruptQueue
from orchestrator.journalled import JournalledModel, JournalledTools
from orchestrator.ledger import Ledger
from orchestrator.prompts import LAST_WORD, REFORMAT, unpaid, unsummarised
from orchestrator.react.conversation import Conversation
from orchestrator.react.hearing import Ears
from orchestrator.react.outcome import UNPARSED, AgentOutcome, AgentResult
from orchestrator.react.progress import Made, NoProgress, Progress, RefuseRepeats, call_digest, repeated, result_of
from orchestrator.react.recovery import FAULT_LIMIT, NOTES, Fault, Recovery, fault_of, stopped
from orchestrator.react.selection import choose, must_choose
from orchestrator.react.task import Equipment, Task
from orchestrator.spending.calls import spent_out
from orchestrator.spending.landing import last_word
from orchestrator.waiting import Waiting
from registry.calls import Call
from registry.errors import DagwrightError, ModelError
from registry.messages import Message, Reply, ToolCall, UserMessage
from registry.tools.tool import Observation


class Loop:
    """One run of an agent: its conversation, and how it gets on."""

    def __init__(self, made_of: Equipment, task: Task, ledger: Ledger, call: Call, interrupts: InterruptQueue) -> None:
        self._made_of, self._task, self._ledger, self._call = made_of, task, ledger, call
        self._talk = Conversation(made_of, task, ledger)
        self._ears = Ears(interrupts, ledger, call)
        self._progress = Progress()
        self._policies = RefuseRepeats(self._progress, made_of.hooks)
        self._seen: list[Observation] = []
        self._laps, self._unread, self._faults = 0, 0, 0
        self._reasoning, self._last_words = "", ""

    async def run(self) -> AgentResult:
        """To the end, whatever it is. Errors of models and denials are an end too."""
        try:
            if must_choose(self._made_of.tools):
                await self._choose_tools()
            return await self._all_laps()
        except (ModelError, StepError) as error:
            spent = spent_out(error, self._call.budget)
            answer = "" if spent is None else unpaid(self._seen, self._last_words, why=str(spent))
            return self._ended(answer, "failed", error=spent or error)

    async def _choose_tools(self) -> None:
        granted, task = self._made_of.tools, self._task
        call = replace(self._call, purpose="selection")
        if not self._ledger.answered(call):  # otherwise it was told in an earlier life of the run
            await self._ledger.record(PhaseBegan(phase="selecting_tools", total_tools=len(granted)))
        hint = self._made_of.tool_hint
        model = JournalledModel(self._made_of.model, self._ledger)
        offer, usage = await choose(granted, task.goal, model, call, hint=hint, origins=task.origins)
        self._talk.asking.usage += usage
        self._talk.show(offer)

    async def _all_laps(self) -> AgentResult:
        await self._hear()
        last, budget = self._made_of.max_iterations, self._call.budget
        while self._laps < last:
            if self._laps and budget is not None and (spent := last_word(budget, anyio.current_time())):
                return await self._last_word(spent)
            self._laps += 1
            self._call = replace(self._call, iteration=self._laps)
            result = await self._lap()
            if result is not None:
                return result
            if self._laps == last and self._ears.unanswered:  # what the user said just now gets its turn
                last += 1
        return await self._last_word()

    async def _lap(self) -> AgentResult | None:
        """One reply and what follows from it. Returns the loop's result when it is over, None for one more lap."""
        reply = await self._reply()
        if reply.finish == "refused":
            self._talk.say(reply)
            return self._ended(reply.text, "refused")
        reading = self._talk.read(reply)
        fault = fault_of(reply) or _blank(reading)
        if fault is not None:
            return await self._note(fault, reply)
        said, self._faults = self._talk.say(reply), 0
        if not isinstance(reading, Garbled):
            self._unread, self._reasoning = 0, reading.reasoning
            self._ears.answered()
        # Nothing may stand between a call and its results.
        heard = not said.calls and await self._hear()
        match reading:
            case Conclude(text=text):
                return None if heard else self._conclude(text)
            case Garbled(why=why):
                return self._ask_again(reply, why, heard=heard)
            case Act(calls=calls):
                self._last_words = (said.text.strip() if said.calls else "") or self._last_words
                return await self._act(calls)

    async def _reply(self) -> Reply:
        """One reply, or what could be made of it."""
        await self._begin()
        reply = await self._talk.ask(self._call)
        self._ears.replied()
        if fault_of(reply) is not None:
            reply = await self._recovered(reply)
        await self._made_of.hooks.after_iteration(self._call.iteration, reply, self._call)
        return reply

    async def _recovered(self, reply: Reply) -> Reply:
        """An empty reply asked for again, one that was cut off continued, within their limits."""
        recovery = Recovery(self._talk.dialect.continues)
        extra: tuple[Message, ...] = ()
        while more := recovery.again(reply):
            extra += more
            reply = await self._talk.ask(self._call, *extra)
            self._ears.replied()
        return recovery.whole(reply)

    async def _begin(self) -> None:
        await self._made_of.hooks.before_iteration(self._call.iteration, self._call)
        self._ledger.glimpse(ThinkingBegan(step=self._call.label, iteration=self._call.iteration))

    async def _note(self, fault: Fault, reply: Reply) -> AgentResult | None:
        """An iteration that came to nothing. The model reads so, unless it was the second in a row, which ends the loop."""
        self._faults += 1
        if reply.text.strip():
            self._talk.say(replace(reply, calls=()))  # a call that was cut off must not run
        if self._faults >= FAULT_LIMIT:
            error = stopped(fault, reply, self._made_of.reply_tokens, instead=self._last_words)
            return self._ended(reply.text if fault == "truncated" else self._last_words, fault, error=error)
        self._talk.add(UserMessage(text=NOTES[fault]))
        await self._hear()
        return None

    def _conclude(self, text: str) -> AgentResult:
        self._ledger.glimpse(Concluding(step=self._call.label, iteration=self._laps))
        return self._ended(text, "completed")

    def _ask_again(self, reply: Reply, why: str, *, heard: bool) -> AgentResult | None:
        self._unread += 1
        if self._unread > 1 and not heard:
            self._reasoning = UNPARSED
            return self._ended(reply.text, "completed", unparsed=True)
        self._talk.add(UserMessage(text=REFORMAT.format(why=why)))
        return None

    async def _act(self, calls: Sequence[ToolCall]) -> AgentResult | None:
        tools = JournalledTools(self._talk.offer.shown, self._ledger)
        came = await observe_all(tools, calls, self._call, self._policies)
        waiting: list[Waiting] = []
        seen: list[Observation] = []
        for each in came:
            if isinstance(each, Waiting):
                waiting.append(each)
            else:
                seen.append(each)
        if waiting:
            return self._ended("", "suspended", waiting=tuple(waiting))
        made = [self._made(call, each) for call, each in zip(calls, seen, strict=True)]
        times = self._progress.fold(made)
        mine = f"{self._call.scope}@{self._call.attempt}"  # equal calls of other steps and attempts bring results of their own
        self._talk.observe(
            [(f"{mine}/{what.call}", each, repeated(times.get(what.call, 0))) for what, each in zip(made, seen, strict=True)]
        )
        self._seen.extend(seen)
        self._talk.show(self._talk.offer.after(seen))
        await self._hear()
        return await self._last_word(NoProgress(seen[-1].name)) if self._progress.stuck else None

    def _made(self, call: ToolCall, seen: Observation) -> Made:
        shown = self._talk.offer.shown
        name = shown.meant(call.name)
        tool = shown.find(name)
        changes = seen.error is None and tool is not None and tool.traits.effect != "pure"
        return Made(call=call_digest(name, call.arguments), result=result_of(seen), changes=changes)

    async def _hear(self) -> bool:
        message = await self._ears.hear()
        if message is not None:
            self._talk.add(message)
        return message is not None

    async def _last_word(self, error: StepError | None = None) -> AgentResult:
        """No more laps: one more request, without tools, for an honest summary of what there is."""
        self._talk.add(UserMessage(text=LAST_WORD))
        self._call = replace(self._call, iteration=self._laps + 1)
        answer = ""
        try:
            await self._begin()
            reply = await self._talk.ask(self._call, may_act=False)
            await self._made_of.hooks.after_iteration(self._call.iteration, reply, self._call)
        except (ModelError, DeniedByHook) as failure:
            why = str(failure)
        else:
            why = "the model gave none"
            answer = _last_text(self._talk.read(reply), reply)
            self._talk.say(replace(reply, calls=()))
            self._ears.answered()
        if not answer.strip():
            told = unpaid if isinstance(error, BudgetExhausted) else unsummarised
            answer = told(self._seen, self._last_words, why=why)
        return self._ended(answer, "exhausted", error=error)

    def _ended(
        self,
        answer: str,
        outcome: AgentOutcome,
        *,
        unparsed: bool = False,
        waiting: tuple[Waiting, ...] = (),
        error: DagwrightError | None = None,
    ) -> AgentResult:
        return AgentResult(
            answer=answer,
            outcome=outcome,
            transcript=tuple(self._talk.said),
            usage=self._talk.asking.usage,
            iterations=self._laps,
            reasoning=self._reasoning,
            unparsed=unparsed,
            model=self._made_of.model.name,
            waited=self._talk.asking.waited,
            waiting=waiting,
            unanswered=self._ears.unanswered,
            error=error,
        )


def _blank(reading: Reading) -> Fault | None:
    """A conclusion that says nothing is none."""
    return "empty" if isinstance(reading, Conclude) and not reading.text.strip() else None


def _last_text(reading: Reading, reply: Reply) -> str:
    """What a last word says. One that asks for tools in spite of everything may still say something beside that."""
    match reading:
        case Conclude(text=text):
            return text
        case Act():
            return reply.text if reply.calls else ""
        case Garbled():
            return reply.text
