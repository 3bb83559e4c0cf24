"""What waits for a person: all of it, and what to type."""

from collections.abc import Callable, Mapping

from orchestrator.cli.view.text import in_full, one_line
from orchestrator.waiting import Waiting, WaitingKind
from registry.messages import Json

WANTS: Mapping[WaitingKind, str] = {
    "approval": "waits for approval",
    "question": "asks",
    "in_doubt": "has a call in doubt",
}


def waiting_lines(run: str, waiting: Waiting, command: Callable[..., str]) -> list[str]:
    """What is asked, and the commands that answer it."""
    return [*asked_lines(waiting), *(command(*words) for words in _answers(run, waiting))]


def asked_lines(waiting: Waiting) -> list[str]:
    """A heading, and what is asked in full."""
    return [f"step {one_line(waiting.step)} {WANTS[waiting.kind]} ({waiting.id}):", *shown(waiting)]


def waiting_report(run: str, waiting: Waiting) -> dict[str, Json]:
    """The same for programs."""
    return {"run": run, "id": waiting.id, "kind": waiting.kind, "step_id": waiting.step, "what": waiting.what}


def shown(waiting: Waiting) -> list[str]:
    """What is asked, as a person must see it before they answer: whole, and unable to steer their terminal."""
    return [f"  {line}" for line in in_full(waiting.what).splitlines()]


def _answers(run: str, waiting: Waiting) -> tuple[tuple[str, ...], ...]:
    answer = ("answer", run, waiting.id)
    match waiting.kind:
        case "approval":
            return ("approve", run, waiting.id), ("reject", run, waiting.id)
        case "question":
            return ((*answer, "YOUR ANSWER"),)
        case "in_doubt":
            return (*answer, "--happened", "ITS RESULT"), (*answer, "--retry"), (*answer, "--skip"), (*answer, "--fail")
