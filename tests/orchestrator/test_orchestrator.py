"""The front door: goals in, answers out, on any loop and without one."""

import asyncio
from collections.abc import Callable, Coroutine

import anyio
import pytest
import trio

from orchestrator import Limits, MemoryJournal, Orchestrator
from orchestrator.errors import LoopRunning, UnknownRun
from orchestrator.events.facts import RunStarted
from orchestrator.hooks import Hook, Observer
from planner import AnyStep, Input, Plan, PlanError, Step, ToolStep
from planner.results import Failed, StepResult
from registry.errors import ConfigurationError
from registry.models.registry import ModelRegistry
from registry.testing import ScriptedModel
from registry.tools.function import tool
from registry.tools.registry import ToolRegistry
from tests.orchestrator.parts import judged, plan_of, planned, played, task
from tests.scenario import GOAL, World, ports

ASYNC = pytest.mark.anyio


def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


def simple() -> ScriptedModel:
    return played(plan=[planned("x")], step=["found x"], verdict=[judged(True)], synthesis=["It is x."])


@ASYNC
async def test_one_model_is_enough() -> None:
    """A bare model, plain functions, nothing else."""
    answer = await Orchestrator(simple(), tools=[shout]).run("the goal")

    assert ("achieved", "It is x.") == (answer.outcome, answer.output)
    assert answer.run_id


@ASYNC
async def test_each_part_has_the_model_of_its_role() -> None:
    """Planner and judge, steps and synthesis ask the models that play their roles."""
    with (
        ScriptedModel([planned("x"), judged(True)], name="planner") as planner,
        ScriptedModel(["found x"], name="worker") as worker,
        ScriptedModel(["It is x."], name="writer") as writer,
    ):
        models = ModelRegistry({"general": worker, "planning": planner, "synthesis": writer})
        answer = await Orchestrator(models).run("the goal")

    assert "It is x." == answer.output
    assert "worker" == getattr(answer.steps["x"], "model", None)


@ASYNC
async def test_two_runs_at_once_do_not_meet() -> None:
    """Each has its id, its journal lines and its answer."""
    journal = MemoryJournal()
    running = World().orchestrator(journal)
    answers = []

    async def one() -> None:
        answers.append(await running.run(GOAL))

    async with anyio.create_task_group() as group:
        group.start_soon(one)
        group.start_soon(one)

    assert {"run1", "run2"} == {answer.run_id for answer in answers}
    assert answers[0].output == answers[1].output
    first, second = [[recorded.event.kind for recorded in await journal.read(run)] for run in ("run1", "run2")]
    assert sorted(first) == sorted(second)


@ASYNC
async def test_the_run_is_dated_once() -> None:
    """The day comes from the clock that was passed in, and is what the planner is told."""
    journal, model = MemoryJournal(), simple()
    await Orchestrator(model, journal=journal, ports=ports()).run("the goal")

    (first, *_) = await journal.read("run1")
    assert RunStarted(goal="the goal", plan=None, inputs={}, today="2026-01-02") == first.event
    assert "Today is 2026-01-02." in model.requests[0].messages[-1].text


@ASYNC
async def test_inputs_of_a_plan() -> None:
    """They are given with the run, and defaults stand in for those that are not."""
    plan = Plan(
        goal="the goal",
        inputs={"word": Input(), "mark": Input(default="!")},
        steps=(ToolStep(id="a", tool="echo", args={"text": "${inputs.word}${inputs.mark}"}),),
        output="${steps.a.output}",
    )

    @tool(effect="pure")
    async def echo(text: str) -> str:
        """Say it again."""
        return text

    running = Orchestrator(ScriptedModel([]), tools=ToolRegistry([echo]))

    assert "hi!" == (await running.run(plan, inputs={"word": "hi"})).output
    with pytest.raises(PlanError, match="P011"):
        await running.run(plan)


@ASYNC
async def test_an_unknown_run_can_not_be_resumed() -> None:
    """It is said so, and no such run is begun by asking."""
    journal = MemoryJournal()
    with pytest.raises(UnknownRun, match="no run 'nope' in the journal"):
        await Orchestrator(simple(), journal=journal).resume("nope")

    assert () == await journal.runs()


@ASYNC
async def test_what_is_configured_reaches_the_steps(capfd: pytest.CaptureFixture[str]) -> None:
    """Hooks and limits hold in every step; an observer that fails is reported and changes nothing."""
    seen: list[str] = []

    class Policy(Hook):
        async def before_step(self, step: AnyStep) -> AnyStep:
            if step.id == "b":
                raise PermissionError("not b")
            return step

    class Looks(Observer):
        async def after_step(self, result: StepResult) -> StepResult:
            seen.append(result.step)
            raise OSError("disk full")

    model = played(step=task, synthesis=["Done."])
    running = Orchestrator(model, hooks=[Looks(), Policy()], limits=Limits(answer_tokens=77))
    answer = await running.run(plan_of(Step(id="a", task="x"), Step(id="b", task="y"), Step(id="c", task="z")))

    assert isinstance(answer.steps["b"], Failed)
    assert "DeniedByHook" == answer.steps["b"].error
    assert ["a", "c"] == sorted(seen)
    assert 2 == capfd.readouterr().err.count("disk full")
    assert 77 == model.requests[-1].max_tokens


def test_two_tools_of_one_name_are_refused() -> None:
    """What can't work is said when it is set up."""
    with pytest.raises(ConfigurationError, match="shout"):
        Orchestrator(simple(), tools=[shout, shout])


def test_without_a_loop() -> None:
    """`run_sync` brings its own, as often as it is called."""
    model = played(
        plan=lambda request: planned("x"),
        step=lambda request: "found x",
        verdict=lambda request: judged(True),
        synthesis=lambda request: "It is x.",
    )
    running = Orchestrator(model)

    assert ["It is x."] * 2 == [running.run_sync("the goal").output for _ in range(2)]


def test_an_error_of_run_sync_is_itself() -> None:
    """It comes out of the loop as what it was."""
    with pytest.raises(PlanError, match="P013"):
        Orchestrator(ScriptedModel([])).run_sync("")


@pytest.mark.parametrize("run", [asyncio.run, lambda main: trio.run(lambda: main)], ids=["asyncio", "trio"])
def test_inside_a_loop_run_sync_says_what_to_use(run: Callable[[Coroutine[None, None, None]], None]) -> None:
    """One clear error that names the async call; nothing was begun."""
    journal = MemoryJournal()

    async def main() -> None:
        with pytest.raises(LoopRunning, match=r"await orchestrator\.run"):
            Orchestrator(simple(), journal=journal).run_sync("the goal")
        assert () == await journal.runs()

    run(main())


@ASYNC
async def test_a_goal_in_words_takes_no_inputs() -> None:
    """Inputs belong to a plan that asks for them; this is said before anything is paid."""
    with ScriptedModel([]) as model, pytest.raises(ConfigurationError, match="inputs are for a plan"):
        await Orchestrator(model).run("the goal", inputs={"city": "Lyon"})
