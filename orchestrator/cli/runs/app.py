"""The commands over the journal, and their options. Each imports what it needs when it runs."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.ending import guarded
from orchestrator.cli.options import AsJson, Config, Models, Options, Output, Quiet, Verbose
from registry.errors import ConfigurationError

if TYPE_CHECKING:  # what it reaches the outside by takes long to import
    from orchestrator.cli.world import World
    from orchestrator.waiting import Decision

over_the_journal = typer.Typer()

RunId = Annotated[str, typer.Argument(metavar="RUN", help="The id of a run, or its beginning.")]
MaybeRunId = Annotated[str, typer.Argument(metavar="[RUN]", help="The id of a run, or its beginning; every run without it.")]
WaitingId = Annotated[str, typer.Argument(metavar="[ID]", help="The id of what waits, or its beginning.")]
By = Annotated[str, typer.Option(metavar="NAME", help="Who says so, for the record.")]
Why = Annotated[str, typer.Option(metavar="TEXT", help="The reason, for the record.")]


@over_the_journal.command()
def resume(
    context: typer.Context,
    run: RunId,
    *,
    model: Models = None,
    output: Output = None,
    config: Config = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Go on with a run that was interrupted, failed, or waited."""
    options = Options(models=tuple(model or ()), output=output, config=config, as_json=as_json, quiet=quiet, verbose=verbose)

    def work(world: "World") -> int:
        from orchestrator.cli.runs.resuming import resume_run

        return resume_run(world, run, options)

    _end(context, work)


@over_the_journal.command()
def pending(context: typer.Context, run: MaybeRunId = "", *, config: Config = None, as_json: AsJson = False) -> None:
    """List what waits for an answer, and how to give it."""

    def work(world: "World") -> int:
        from orchestrator.cli.runs.answers import list_pending

        return list_pending(world, run, Options(config=config, as_json=as_json))

    _end(context, work)


@over_the_journal.command()
def approve(context: typer.Context, run: RunId, waiting: WaitingId = "", *, by: By = "", config: Config = None) -> None:
    """Allow what waits for approval."""
    _end(context, partial(_answer, run, waiting, "approve", text="", by=by, config=config))


@over_the_journal.command()
def reject(
    context: typer.Context,
    run: RunId,
    waiting: WaitingId = "",
    *,
    why: Annotated[str, typer.Option(metavar="TEXT", help="The reason, which the model reads.")] = "",
    by: By = "",
    config: Config = None,
) -> None:
    """Refuse what waits for approval."""
    _end(context, partial(_answer, run, waiting, "reject", text=why, by=by, config=config))


@over_the_journal.command()
def answer(
    context: typer.Context,
    run: RunId,
    words: Annotated[list[str] | None, typer.Argument(metavar="ID TEXT", help="What waits, and the answer.")] = None,
    *,
    happened: Annotated[str | None, typer.Option(metavar="RESULT", help="The call in doubt happened, with this result.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="It did not happen: do it.")] = False,
    skip: Annotated[bool, typer.Option("--skip", help="Go on without it.")] = False,
    fail: Annotated[bool, typer.Option("--fail", help="Let it count as failed.")] = False,
    by: By = "",
    config: Config = None,
) -> None:
    """Answer a question, or say what became of a call in doubt."""
    doubts: dict[Decision, bool] = {"happened": happened is not None, "retry": retry, "skip": skip, "fail": fail}

    def work(world: "World") -> int:
        waiting, decision, text = _said(words or [], [doubt for doubt, said in doubts.items() if said], happened or "")
        return _answer(run, waiting, decision, world, text=text, by=by, config=config)

    _end(context, work)


@over_the_journal.command()
def runs(
    context: typer.Context,
    *,
    everything: Annotated[bool, typer.Option("--all", help="Not only the newest 20.")] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List runs, the newest first."""

    def work(world: "World") -> int:
        from orchestrator.cli.runs.history import list_runs

        return list_runs(world, Options(config=config, as_json=as_json), everything=everything)

    _end(context, work)


@over_the_journal.command()
def show(
    context: typer.Context,
    run: RunId,
    *,
    timeline: Annotated[bool, typer.Option("--timeline", help="What each step was doing when.")] = False,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the timeline there as a picture.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Show a run: its steps, what they took and cost, and the answer; or how its time went."""
    options = Options(config=config, as_json=as_json)

    def work(world: "World") -> int:
        from orchestrator.cli.runs.showing import show_run
        from orchestrator.cli.runs.timing import show_timeline

        return show_timeline(world, run, options, printed=timeline, svg=svg) if timeline or svg else show_run(world, run, options)

    _end(context, work)


@over_the_journal.command()
def logs(
    context: typer.Context,
    run: RunId,
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Until nobody works on it any more.")] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Print what happened in a run, line by line."""

    def work(world: "World") -> int:
        from orchestrator.cli.runs.showing import show_logs_of

        return show_logs_of(world, run, Options(config=config, as_json=as_json), follow=follow)

    _end(context, work)


@over_the_journal.command()
def tell(
    context: typer.Context,
    run: RunId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What its agents are to know.")],
    *,
    config: Config = None,
) -> None:
    """Send a message to a run: every agent at work reads it, and the plan may change."""

    def work(world: "World") -> int:
        from orchestrator.cli.runs.answers import tell_run

        return tell_run(world, run, text, Options(config=config))

    _end(context, work)


@over_the_journal.command()
def stop(context: typer.Context, run: RunId, *, why: Why = "", config: Config = None) -> None:
    """Let a run begin no further steps, and answer from what there is."""

    def work(world: "World") -> int:
        from orchestrator.cli.runs.answers import stop_run

        return stop_run(world, run, Options(config=config), why=why)

    _end(context, work)


@over_the_journal.command()
def cancel(context: typer.Context, run: RunId, *, why: Why = "", config: Config = None) -> None:
    """End a run for good."""

    def work(world: "World") -> int:
        from orchestrator.cli.runs.answers import cancel_run

        return cancel_run(world, run, Options(config=config), why=why)

    _end(context, work)


@over_the_journal.command()
def gc(
    context: typer.Context,
    *,
    older_than: Annotated[str, typer.Option(metavar="AGE", help="Only runs that ended so long ago: 30d, 12h, 45m.")] = "30d",
    keep: Annotated[int, typer.Option(min=0, metavar="N", help="The newest ones to keep all the same.")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be forgotten.")] = False,
    config: Config = None,
) -> None:
    """Forget runs that have ended."""

    def work(world: "World") -> int:
        from orchestrator.cli.runs.history import forget_runs

        return forget_runs(world, Options(config=config), older_than=older_than, keep=keep, dry_run=dry_run)

    _end(context, work)


def _end(context: typer.Context, work: "Callable[[World], int]") -> None:
    """Do it, and leave with its exit code."""

    def within_the_world() -> int:
        from orchestrator.cli.world import World

        return work(context.obj or World())

    raise typer.Exit(guarded(within_the_world))


def _answer(run: str, waiting: str, decision: "Decision", world: "World", *, text: str, by: str, config: Path | None) -> int:
    from orchestrator.cli.runs.answers import answer_run

    return answer_run(world, run, waiting, decision, Options(config=config), text=text, by=by)


def _said(words: list[str], doubts: "list[Decision]", result: str) -> "tuple[str, Decision, str]":
    """What is answered to, how, and with which text. Raises `ConfigurationError` when that isn't clear."""
    match words, doubts:
        case [], [doubt]:
            return "", doubt, result
        case [waiting], [doubt]:
            return waiting, doubt, result
        case [text], []:
            return "", "answer", text
        case [waiting, text], []:
            return waiting, "answer", text
        case _:
            raise ConfigurationError(
                "one answer at a time: dagwright answer RUN ID TEXT, with quotes around a text of several words"
            )
