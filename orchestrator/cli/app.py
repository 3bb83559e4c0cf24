"""The commands and their options. Each imports what it needs when it runs."""

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestrator.cli.ending import guarded
from orchestrator.cli.options import AsJson, Config, Models, Options, Output, Quiet, Texts, Verbose
from orchestrator.cli.runs.app import over_the_journal

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(over_the_journal)

Goal = Annotated[str, typer.Argument(help="What you want, a plan file (.yaml, .json), or - to read the goal from stdin.")]
PlanFile = Annotated[Path, typer.Argument(help="A plan in YAML or JSON.")]
Inputs = Annotated[Texts, typer.Option("--input", "-i", metavar="NAME=VALUE|@FILE", help="A value for an input of the plan.")]
Tools = Annotated[Texts, typer.Option("--tools", metavar="MODULE:NAME", help="A tool, a function, or a list of them.")]
Root = Annotated[Path | None, typer.Option(help="The folder that file tools see: the plan's, or the working folder.")]
Probe = Annotated[bool, typer.Option("--probe", help="Ask each model what it can really do; exit code 1 when one is down.")]

Confirm = Annotated[bool, typer.Option("--confirm", help="Show the plan and its forecast, and ask before it is done.")]
MaxRounds = Annotated[int | None, typer.Option(min=1, metavar="N", help="How many plans there may be: the first and revisions.")]
MaxRequests = Annotated[int | None, typer.Option(min=1, metavar="N", help="The most requests to models, of the whole run.")]
MaxTokens = Annotated[int | None, typer.Option(min=1, metavar="N", help="About as many tokens the run may take.")]
MaxCost = Annotated[
    float | None, typer.Option(min=0, metavar="DOLLARS", help="The same for money; what must take more is not begun.")
]
MaxSeconds = Annotated[float | None, typer.Option(min=0, metavar="SECONDS", help="The same for the time it takes.")]
Unpriced = Annotated[bool, typer.Option("--allow-unpriced", help="Limit money although some prices are not known.")]
ServedRoot = Annotated[Path | None, typer.Option(help="The folder that file tools see; without it there are none.")]
Host = Annotated[str | None, typer.Option(help="The address to listen on, 127.0.0.1 by default.")]
Port = Annotated[int | None, typer.Option(min=0, max=65535, help="The port, 8321 by default; 0 for any that is free.")]
AllowedHosts = Annotated[Texts, typer.Option("--allowed-host", metavar="NAME", help="A name that the server goes by, too.")]
TlsCertificate = Annotated[Path | None, typer.Option(metavar="FILE", help="A certificate with its chain, in PEM.")]
TlsKey = Annotated[Path | None, typer.Option(metavar="FILE", help="Its key, if that is in another file.")]
Grace = Annotated[float | None, typer.Option(min=0.1, metavar="SECONDS", help="For runs to come to rest at the end; 30.")]
Unencrypted = Annotated[
    bool, typer.Option("--allow-unencrypted-tokens", help="Listen on a network without TLS: who is on the way can read tokens.")
]
Form = Annotated[str, typer.Option("--as", metavar="FORM", help="tree, mermaid or dot.")]


def command() -> Callable[..., Any]:
    """The program as a function of its arguments."""
    return typer.main.get_command(app)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"dagwright {version('dagwright')}")
        except PackageNotFoundError:
            print("dagwright, not installed")
        raise typer.Exit


@app.callback()
def dagwright(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """Turns a goal into a plan, does its steps side by side, and answers."""


@app.command()
def run(
    context: typer.Context,
    goal: Goal,
    *,
    model: Models = None,
    values: Inputs = None,
    tools: Tools = None,
    root: Root = None,
    output: Output = None,
    config: Config = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    confirm: Confirm = False,
    max_rounds: MaxRounds = None,
    max_requests: MaxRequests = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    max_seconds: MaxSeconds = None,
    allow_unpriced: Unpriced = False,
) -> None:
    """Meet a goal, or do the steps of a plan file."""
    options = Options(
        models=tuple(model or ()),
        inputs=tuple(values or ()),
        tools=tuple(tools or ()),
        root=root,
        output=output,
        config=config,
        as_json=as_json,
        quiet=quiet,
        verbose=verbose,
        confirm=confirm,
        max_rounds=max_rounds,
        max_requests=max_requests,
        max_tokens=max_tokens,
        max_cost=None if max_cost is None else Decimal(str(max_cost)),
        max_seconds=max_seconds,
        allow_unpriced=allow_unpriced,
    )
    raise typer.Exit(guarded(partial(_run, context, goal, options)))


def _run(context: typer.Context, goal: str, options: Options) -> int:
    from orchestrator.cli.running import run_asked
    from orchestrator.cli.world import World

    return run_asked(context.obj or World(), goal, options)


@app.command()
def plan(
    context: typer.Context,
    goal: Goal,
    *,
    model: Models = None,
    tools: Tools = None,
    root: Root = None,
    config: Config = None,
    verbose: Verbose = False,
) -> None:
    """Draft a plan for a goal and print it as YAML."""
    options = Options(models=tuple(model or ()), tools=tuple(tools or ()), root=root, config=config, verbose=verbose)

    def work() -> int:
        from orchestrator.cli.drafting import draft_plan
        from orchestrator.cli.world import World

        return draft_plan(context.obj or World(), goal, options)

    raise typer.Exit(guarded(work))


@app.command()
def check(
    context: typer.Context,
    file: PlanFile,
    *,
    model: Models = None,
    values: Inputs = None,
    tools: Tools = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Say what is wrong with a plan file, without running it."""
    options = Options(
        models=tuple(model or ()), inputs=tuple(values or ()), tools=tuple(tools or ()), config=config, as_json=as_json
    )

    def work() -> int:
        from orchestrator.cli.checking import check_plan
        from orchestrator.cli.world import World

        return check_plan(context.obj or World(), file, options)

    raise typer.Exit(guarded(work))


@app.command()
def forecast(
    context: typer.Context, file: PlanFile, *, model: Models = None, config: Config = None, as_json: AsJson = False
) -> None:
    """Say what a plan file will take: calls, tokens, seconds and money."""
    options = Options(models=tuple(model or ()), config=config, as_json=as_json)

    def work() -> int:
        from orchestrator.cli.forecasting import forecast_plan
        from orchestrator.cli.world import World

        return forecast_plan(context.obj or World(), file, options)

    raise typer.Exit(guarded(work))


@app.command()
def draw(file: PlanFile, *, form: Form = "tree") -> None:
    """Draw a plan file as a tree of text, Mermaid or DOT."""

    def work() -> int:
        from orchestrator.cli.drawing import draw_plan

        return draw_plan(file, form)

    raise typer.Exit(guarded(work))


@app.command()
def schema() -> None:
    """Print the JSON Schema of plan files, for editors."""

    def work() -> int:
        from orchestrator.cli.drafting import print_schema

        return print_schema()

    raise typer.Exit(guarded(work))


@app.command()
def models(context: typer.Context, *, model: Models = None, config: Config = None, probe: Probe = False) -> None:
    """List the roles and the models that play them."""
    options = Options(models=tuple(model or ()), config=config)

    def work() -> int:
        from orchestrator.cli.listing import list_models
        from orchestrator.cli.world import World

        return list_models(context.obj or World(), options, probing=probe)

    raise typer.Exit(guarded(work))


@app.command()
def serve(
    context: typer.Context,
    *,
    model: Models = None,
    tools: Tools = None,
    root: ServedRoot = None,
    config: Config = None,
    verbose: Verbose = False,
    host: Host = None,
    port: Port = None,
    allowed_host: AllowedHosts = None,
    tls_certificate: TlsCertificate = None,
    tls_key: TlsKey = None,
    grace: Grace = None,
    allow_unencrypted_tokens: Unencrypted = False,
) -> None:
    """Serve goals and plans to a team, over HTTP with server-sent events."""
    options = Options(models=tuple(model or ()), tools=tuple(tools or ()), root=root, config=config, verbose=verbose)

    def work() -> int:
        from orchestrator.cli.serving import Listening, serve_asked
        from orchestrator.cli.world import World

        listening = Listening(
            host=host,
            port=port,
            allowed_hosts=tuple(allowed_host or ()),
            tls_certificate=tls_certificate,
            tls_key=tls_key,
            grace_seconds=grace,
            unencrypted=allow_unencrypted_tokens,
        )
        return serve_asked(context.obj or World(), options, listening)

    raise typer.Exit(guarded(work))


@app.command()
def demo(
    context: typer.Context,
    *,
    model: Models = None,
    output: Output = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Turn a folder of documents into a brief, with a built-in model."""
    options = Options(models=tuple(model or ("local",)), output=output, as_json=as_json, quiet=quiet, verbose=verbose)

    def work() -> int:
        from orchestrator.cli.demonstration import run_demo
        from orchestrator.cli.world import World

        return run_demo(context.obj or World(), options)

    raise typer.Exit(guarded(work))
