"""`dagwright demo`: honest about its model, and about what ran side by side."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from orchestrator.cli.demonstration import run_demo
from orchestrator.cli.options import Options
from orchestrator.journal.protocol import Journal
from orchestrator.settings import Settings
from registry.testing import Delay, FaultyModel, ScriptedModel
from tests.orchestrator.cli.terminal import KEPT, ScriptedWorld, plan_file

SIDE_BY_SIDE = "goal: g\nsteps: [{id: a, task: t}, {id: b, task: u}]\noutput: ${steps.a.output}"
ONE = "goal: g\nsteps: [{id: a, task: t}]\noutput: ${steps.a.output}"


@pytest.mark.parametrize(
    ("text", "models", "told"),
    [
        pytest.param(SIDE_BY_SIDE, ("local",), "these steps overlapped in time: a, b", id="two steps"),
        pytest.param(ONE, ("local",), "no steps overlapped in time", id="one step"),
        pytest.param(ONE, ("other",), "no steps overlapped in time", id="another model"),
    ],
)
def test_the_demo_tells_what_it_showed(
    text: str, models: tuple[str, ...], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The embedded model is introduced for what it is; the last line names the steps that overlapped."""
    plan_file(tmp_path, text, "brief.yaml")
    model = FaultyModel(ScriptedModel(lambda _: "Hello"), [Delay(0.05), Delay(0.05)])

    code = run_demo(ScriptedWorld(model), Options(models=models), tmp_path)

    out, err = capsys.readouterr()
    assert (0, "Hello\n") == (code, out)
    assert ("SmolLM2-135M-Instruct" in err.splitlines()[0]) == (models == ("local",))
    assert told in err.splitlines()[-1]


def test_quiet_means_quiet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing but the answer."""
    plan_file(tmp_path, ONE, "brief.yaml")

    run_demo(ScriptedWorld(ScriptedModel(["Hello"])), Options(models=("local",), quiet=True), tmp_path)

    assert ("Hello\n", "") == capsys.readouterr()


def test_a_demo_leaves_nothing_behind(tmp_path: Path) -> None:
    """Its run is kept in memory, whatever the settings say."""

    class Noting(ScriptedWorld):
        def journal(self, settings: Settings) -> AbstractAsyncContextManager[Journal]:
            self.path = settings.journal.path
            return super().journal(settings)

    plan_file(tmp_path, ONE, "brief.yaml")
    world = Noting(ScriptedModel(["Hello"]))

    run_demo(world, Options(models=("local",), quiet=True), tmp_path)

    assert KEPT == world.settings(None).journal
    assert world.path is None
