"""What an agent and its model say to each other, in the dialect that they share."""

from collections.abc import Iterable

from msgspec.structs import asdict, replace

from orchestrator.compacting import Compactor, NothingGained
from orchestrator.dialects import Act, Reading
from orchestrator.dialects.speech import Speech
from orchestrator.events.glimpses import Compacted
from orchestrator.journalled import JournalledModel
from orchestrator.ledger import Ledger
from orchestrator.memory import Memory
from orchestrator.react.asking import Asking
from orchestrator.react.selection import Offer
from orchestrator.react.task import Equipment, Task
from registry.calls import Call
from registry.context import NO_HANDLES, READ_RESULT
from registry.errors import Unable
from registry.messages import AssistantMessage, Message, Reply, ToolMessage, UserMessage
from registry.origins import TRUSTED, joined
from registry.tools.tool import Observation
from registry.wire.lift import unique


class Conversation:
    """The transcript of one run, which is added to and never edited but for its opening, and the tools that it is about."""

    def __init__(self, made_of: Equipment, task: Task, ledger: Ledger) -> None:
        self._made_of, self._ledger = made_of, ledger
        self.asking = Asking(JournalledModel(made_of.model, ledger), made_of.hooks)
        compaction = None if made_of.compaction is None else JournalledModel(made_of.compaction, ledger)
        self._compactor = Compactor(compaction, made_of.guard)
        given = task.messages
        self._memory = Memory(made_of.guard, *[message.text for message in given])
        self._made: dict[str, int] = {}
        self.offer, self._can_read = Offer.of_all(made_of.tools), READ_RESULT in made_of.tools.names
        self._speech = Speech(
            made_of.system, made_of.tools.specs, made_of.model.abilities, use_native_tools=made_of.use_native_tools
        )
        self.said: list[Message] = [self._speech.opening]
        self._origins = TRUSTED
        self._call_ids: set[str] = set()
        for message in given:
            self._keep(message)
        self.dialect = self._speech.dialect
        self._replied = False
        self._offer_memory()

    async def ask(self, call: Call, *extra: Message, may_act: bool = True) -> Reply:
        """The model's reply to all that was said, and to what this question has besides.

        Where nobody who could take the question is left before the first reply, it is asked anew in a humbler dialect. Raises a
        `ModelError`.
        """
        while True:
            specs, dialect = self.offer.shown.specs, self.dialect
            request = dialect.request(await self._fitted(call, extra), specs, may_act=may_act)
            if self._made_of.reply_tokens is not None:
                request = replace(request, max_tokens=self._made_of.reply_tokens)
            try:
                reply = await self.asking.reply(request, call)
                break
            except Unable as unable:
                self._speak_without(unable)
        self._replied = True
        meant = dialect.meant(reply, specs)
        if not meant.calls:
            return meant
        calls = unique(meant.calls, self._call_ids)
        return meant if calls == meant.calls else replace(meant, calls=calls)

    def read(self, reply: Reply) -> Reading:
        """What the reply says. Calls get ids that no other call of the conversation has."""
        reading = self.dialect.read(reply)
        if not isinstance(reading, Act) or reading.calls is reply.calls:  # which have theirs already
            return reading
        return replace(reading, calls=unique(reading.calls, self._call_ids))

    def add(self, message: Message) -> None:
        """What the user, or the engine in their place, says to the model."""
        self._keep(message)

    def say(self, reply: Reply) -> AssistantMessage:
        """The reply becomes part of the transcript. It has the origins of all that the model has read."""
        said = self.dialect.said(reply)
        if self._origins:
            said = replace(said, origins=self._origins)
        self._keep(said)
        return said

    def observe(self, came: Iterable[tuple[str, Observation, str]]) -> None:
        """What came of the calls that were said last becomes part of the transcript, and is kept to be read again.

        Each is what equal calls of this run of an agent have in common, the result, and what the model is to read behind it.
        """
        noted = []
        for call, seen, behind in came:
            self._made[call] = self._made.get(call, 0) + 1
            short = self._memory.noted(seen, f"{call}/{self._made[call]}")
            noted.append(replace(short, text=short.text + behind) if behind else short)
        for message in self.dialect.observed(noted):
            self._keep(message)
        self._offer_memory()

    def show(self, offer: Offer) -> None:
        """From now on the model is shown these tools. Its prompts change where they differ from those before, and only then."""
        if offer.shown is not self.offer.shown:
            self.offer, self._can_read = offer, READ_RESULT in offer.shown.names
            self._speak(self._speech.about(offer.shown.specs))
            self._offer_memory()

    def _keep(self, message: Message) -> None:
        self.said.append(message)
        if message.origins and message.origins != self._origins:
            self._origins = joined(self._origins, message.origins)
        match message:
            case AssistantMessage(calls=calls):
                for call in calls:
                    self._call_ids.add(call.id)
            case ToolMessage(call_id=call_id) | UserMessage(call_id=call_id):
                self._call_ids.add(call_id)
            case _:
                pass

    def _speak_without(self, unable: Unable) -> None:
        """Begin anew, in a dialect that needs none of what no model left can do. Raises the error when that is no way out."""
        humbler = self._speech.without(unable.needs)
        if humbler is None or self._replied:
            raise unable
        self._speak(humbler)

    def _speak(self, speech: Speech) -> None:
        self._speech, self.dialect, self.said[0] = speech, speech.dialect, speech.opening

    async def _fitted(self, call: Call, extra: tuple[Message, ...]) -> tuple[Message, ...]:
        messages, offer = (*self.said, *extra), self.offer
        handles = self._memory.handles if self._can_read else NO_HANDLES
        try:
            fitted = await self._compactor.fitted(messages, offer.shown.specs, call, handles=handles)
        except NothingGained as error:
            self.asking.usage += error.usage
            raise
        if fitted.usage.requests:
            self.asking.usage += fitted.usage
        if fitted.compaction is not None:
            counts = asdict(fitted.compaction)
            self._ledger.glimpse(Compacted(step=call.label, iteration=call.iteration, **counts))
        return fitted.messages

    def _offer_memory(self) -> None:
        """What can be read again must have a tool that reads it. A model without tool calls gets it beside others only."""
        if self._memory.empty:
            return
        offer = self.offer
        speaks_of_tools = len(offer.shown) > 0 or self._made_of.model.abilities.get("tool_call", False)
        if speaks_of_tools and not self._can_read and READ_RESULT not in offer.granted:
            self.show(offer.beside(self._memory.tool))
