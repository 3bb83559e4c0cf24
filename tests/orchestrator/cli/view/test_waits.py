"""What waits for a person, and what to type."""

import pytest

from orchestrator.cli.options import Options
from orchestrator.cli.view.waits import waiting_lines, waiting_report
from orchestrator.waiting import Waiting, WaitingKind


@pytest.mark.parametrize(
    ("kind", "heading", "commands"),
    [
        pytest.param("approval", "waits for approval", ["approve r ID", "reject r ID"], id="approval"),
        pytest.param("question", "asks", ["answer r ID 'YOUR ANSWER'"], id="question"),
        pytest.param(
            "in_doubt",
            "has a call in doubt",
            ["answer r ID --happened 'ITS RESULT'", "answer r ID --retry", "answer r ID --skip", "answer r ID --fail"],
            id="in doubt",
        ),
    ],
)
def test_every_kind_has_its_commands(kind: WaitingKind, heading: str, commands: list[str]) -> None:
    """A heading with the id, the sentence, and each command that answers it, ready to be typed."""
    waiting = Waiting(step="a", key="k", what="Send\nthis?", kind=kind)

    lines = waiting_lines("r", waiting, Options().next_command)

    assert [f"step a {heading} ({waiting.id}):", "  Send", "  this?"] == lines[:3]
    assert [f"dagwright {command.replace('ID', waiting.id)}" for command in commands] == lines[3:]


def test_nothing_is_hidden_from_who_must_decide() -> None:
    """What would steer the terminal, or turn the text around, is spelled out instead of obeyed or dropped."""
    waiting = Waiting(step="\x1b[2Ja", key="k", what="pay \x1b[8m1000\x1b[0m\r10 \u202eeur", kind="approval")

    heading, sentence, *_ = waiting_lines("r", waiting, Options().next_command)

    assert heading.startswith("step a waits")
    assert r"  pay \x1b[8m1000\x1b[0m\r10 \u202eeur" == sentence


def test_programs_get_the_same() -> None:
    """As plain JSON."""
    waiting = Waiting(step="a", key="k", what="Send?", kind="approval")

    assert {"run": "r", "id": waiting.id, "kind": "approval", "step_id": "a", "what": "Send?"} == waiting_report("r", waiting)
