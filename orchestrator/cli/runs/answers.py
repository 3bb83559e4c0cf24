"""`dagwright pending`, `approve`, `reject`, `answer`, `tell`, `stop` and `cancel`: what a person says to a run."""

from collections.abc import Mapping
from functools import partial

import orjson

from orchestrator.answering import cancel, decide, speak
from orchestrator.cli.ending import ACHIEVED, NOT_ACHIEVED, say
from orchestrator.cli.options import Options
from orchestrator.cli.runs.recalling import Recalled, glanced_at, looked_at, recall, with_journal
from orchestrator.cli.view import one_line, waiting_lines
from orchestrator.cli.view.waits import shown, waiting_report
from orchestrator.cli.world import World
from orchestrator.events.facts import InterruptReceived, StopRequested
from orchestrator.journal.protocol import Journal
from orchestrator.standing import CLOSED, FINISHED
from orchestrator.waiting import Decision, Waiting
from registry.errors import ConfigurationError

DONE: Mapping[Decision, str] = {
    "approve": "approved",
    "reject": "rejected",
    "answer": "answered",
    "happened": "taken as done",
    "retry": "to be done again",
    "skip": "left out",
    "fail": "taken as failed",
}


def list_pending(world: World, name: str, options: Options) -> int:
    """Prints all that waits for a person, in one run or in every one."""
    waiting = with_journal(world, options, partial(_all_pending, name=name))
    for past in waiting:
        for each in past.pending:
            if options.as_json:
                print(orjson.dumps(waiting_report(past.run, each)).decode())
            else:
                print("\n".join(waiting_lines(past.run, each, options.next_command)))
    if not waiting:
        say("nothing waits for an answer")
    return ACHIEVED


def answer_run(
    world: World, name: str, waiting: str, decision: Decision, options: Options, *, text: str = "", by: str = ""
) -> int:
    """Answers to what waits in a run, the only thing if `waiting` is empty, and prints what exactly was answered."""

    async def answered(journal: Journal) -> tuple[Recalled, Waiting]:
        past = await recall(journal, name)
        wanted = waiting or _only(past)
        fact = await decide(journal, past.run, wanted, decision, text=text, by=by, ports=world.ports)
        return await recall(journal, past.run), past.state.paused[fact.waiting]

    past, asked = with_journal(world, options, answered)
    print(f"{DONE[decision]}: step {one_line(asked.step)} of run {past.run} ({asked.id})")
    print("\n".join(shown(asked)))
    if text:
        print(f"with: {one_line(text)}")
    print(_next(past, options))
    return ACHIEVED


def tell_run(world: World, name: str, text: str, options: Options) -> int:
    """Sends a message to all agents of a run. Raises `ConfigurationError` for one that says nothing."""
    if not text.strip():
        raise ConfigurationError("there is nothing to tell: the message is empty")
    return _spoken(world, name, InterruptReceived(text=text), options, heard="reads it", later="it is read")


def stop_run(world: World, name: str, options: Options, *, why: str = "") -> int:
    """Lets a run begin no further steps; what is under way finishes, and the answer is made from what there is."""
    return _spoken(world, name, StopRequested(why=why), options, heard="stops it", later="it stops")


def cancel_run(world: World, name: str, options: Options, *, why: str = "") -> int:
    """Ends a run for good, or says that it had ended in another way. Returns the exit code."""

    async def cancelled(journal: Journal) -> tuple[Recalled, bool]:
        past = await recall(journal, name)
        return past, await cancel(journal, past.run, why=why, ports=world.ports)

    past, over = with_journal(world, options, cancelled)
    if past.standing in FINISHED:
        say(f"run {past.run} had ended already: {past.standing}")
        return ACHIEVED if past.standing == "cancelled" else NOT_ACHIEVED
    if over:
        print(f"run {past.run} is cancelled; what was finished stays finished")
    else:
        print(f"run {past.run} will end as soon as {past.listed.holder or 'whoever works on it'} hears of it")
    return ACHIEVED


def _spoken(world: World, name: str, word: InterruptReceived | StopRequested, options: Options, *, heard: str, later: str) -> int:
    """Says it to the run, unless that has ended, and prints who hears it, or when. Returns the exit code."""

    async def said(journal: Journal) -> Recalled:
        past = await recall(journal, name)
        if past.standing not in FINISHED:
            await speak(journal, past.run, word, ports=world.ports)
        return past

    past = with_journal(world, options, said)
    if past.standing in FINISHED:
        say(f"run {past.run} had ended already: {past.standing}")
        return NOT_ACHIEVED
    if past.listed.holder:
        print(f"{past.listed.holder} {heard}")
    else:
        print(f"nobody works on run {past.run}: {later} after {options.next_command('resume', past.run)}")
    return ACHIEVED


async def _all_pending(journal: Journal, name: str) -> list[Recalled]:
    if name:
        runs = [await recall(journal, name)]
    else:
        runs = [
            await looked_at(journal, listed) for listed in await journal.runs() if await glanced_at(journal, listed) not in CLOSED
        ]
    return [past for past in runs if past.pending]


def _only(past: Recalled) -> str:
    pending = past.pending
    if not pending:
        raise ConfigurationError(f"nothing waits for an answer in run {past.run}")
    if len(pending) > 1:
        several = ", ".join(f"{each.id} (step {one_line(each.step)})" for each in pending)
        raise ConfigurationError(f"several things wait in run {past.run}, say which: {several}")
    return pending[0].id


def _next(past: Recalled, options: Options) -> str:
    if left := len(past.pending):
        return f"{left} more to be answered: {options.next_command('pending', past.run)}"
    if past.listed.holder:
        return f"{past.listed.holder} goes on with it"
    return f"go on with: {options.next_command('resume', past.run)}"
