"""`dagwright demo`: a plan of our own, done by a model that comes with us."""

from pathlib import Path

from msgspec.structs import replace

from orchestrator.cli.asked import asked
from orchestrator.cli.ending import say
from orchestrator.cli.options import Options
from orchestrator.cli.running import begun
from orchestrator.cli.world import World
from orchestrator.demo import demo_folder
from orchestrator.settings import JournalSettings
from orchestrator.wiring import EMBEDDED

HONESTLY = (
    "the model is SmolLM2-135M-Instruct, inside this program: it is tiny. "
    "It writes a fair sentence about one passage, and mixes things up when it merges several"
)


def run_demo(world: World, options: Options, folder: Path | None = None) -> int:
    """Runs the plan of the demo's folder, and says at the end which of its steps ran side by side. Returns the exit code.

    It is kept in memory: a demo leaves nothing behind.
    """
    if options.models == (EMBEDDED,) and not options.quiet:
        say(HONESTLY)
    settings = replace(world.settings(None), journal=JournalSettings(path=None))
    session = begun(world, asked(str((folder or demo_folder()) / "brief.yaml"), options), options, settings)
    code = session.to_the_end()
    if session.answer is not None and not options.quiet:
        overlapped = ", ".join(session.answer.summary.overlapped)
        say(f"these steps overlapped in time: {overlapped}" if overlapped else "no steps overlapped in time")
    return code
