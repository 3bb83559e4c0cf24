"""The examples run as they stand, offline, and print what they promise."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PRINTED = {
    "01_goal_to_answer": [
        "started  Lyon",
        '  used   population {"city":"Lyon"}',
        "started  Nice",
        '  used   population {"city":"Nice"}',
        "ended    Lyon -> 522,250 people.",
        "ended    Nice -> 348,085 people.",
        "Lyon is larger than Nice by 174,165 people.",
        "achieved; 7 model calls, 105 tokens",
    ],
    "02_your_own_tool": [
        "order - Order a book.",
        "  takes title - the whole title, as find_books writes it",
        "  takes to - who gets it",
        "called as before: ['Emma']",
        'find_books {"query":"dune"}',
        '  -> ["Dune","Dune Messiah"]',
        'order {"title":"dune","to":{"name":"Ada","postcode":"69001"}}',
        "  -> try again: there is no book 'dune'; write the title as find_books does",
        'order {"title":"Dune","to":{"name":"Ada","postcode":"69-001"}}',
        "  -> wrong arguments for 'order': to.postcode: String should match pattern '^\\d{5}$', got \"69-001\"",
        'order {"title":"Dune Messiah","to":{"name":"Ada","postcode":"69001"}}',
        "  -> 'order' failed: 'Dune Messiah' is sold out",
        'order {"title":"Dune","to":{"name":"Ada","postcode":"69001"}}',
        "  -> 'Dune' goes to Ada, 69001",
        "Dune is on its way to Ada. Dune Messiah is sold out.",
        "orders: Dune",
    ],
    "03_resume_after_a_crash": [
        "started",
        "  asked:  Write an invitation to Ada",
        "  posted: Dear Ada, do come on Friday.",
        "ended with -9",
        "started again",
        '  waits:  post was begun with {"letter": "Dear Ada, do come on Friday."}, and nobody knows whether it happened',
        "  asked:  Note for the files: the letter was posted",
        "  answer: Ada was invited on Monday.",
        "ended with 0",
    ],
    "04_hooks_and_interrupts": [
        "the user: Tell Bob too",
        "tell, iteration 1: sent to ada@home.example",
        "tell, iteration 1: error: 'send' may not be called so: only to home.example",
        "tell, iteration 2: sent to bob@home.example",
        "Ada |and |Bob |know. |The |press |may |not |be |told.|",
        "achieved: Ada and Bob know. The press may not be told.",
    ],
    "05_submit_a_plan": [
        (
            "P010 error at /steps/2/task, line 14, column 5: ${steps.whether.output} names no step; did you mean 'weather'? "
            "there are: people, sentence, weather (write ${inputs.NAME}, ${steps.ID.output} or ${steps.ID.data.KEY[0]}; for "
            "a plain ${ write $${)"
        ),
        (
            "P008 error at /steps/0/tool, line 7, column 5: no tool named 'populaton'; did you mean 'population'? there are: "
            "population"
        ),
        "nothing wrong",
        "Tell people about a city",
        "├─ people: population",
        "└─ * weather",
        "   └─ * sentence (and after people)",
        "* is on the critical path",
        "2 model calls, most probably, and 9 s",
        "Lyon has 522,250 people, and it is sunny. (2 model calls)",
    ],
    "07_approve_the_plan": [
        "Invite Ada",
        "└─ write",
        "   └─ send",
        "  the user: no",
        "nothing was done: a hook refused the plan: the user said no",
        "Invite Ada",
        "└─ write",
        "   └─ send",
        "  the user: ask me before it is posted",
        "  waits: Post this? Dear Ada, do come.",
        "  posted: Dear Ada, do come.",
        "achieved: Ada was invited.",
    ],
    "06_typed_steps_and_map": [
        "harbours   succeeded ['Oslo', 'Genoa']",
        "berths[0]  succeeded {'harbour': 'Oslo', 'metres': 180}",
        "berths[1]  succeeded {'harbour': 'Genoa', 'metres': 320}",
        "berths     succeeded [{'harbour': 'Oslo', 'metres': 180}, {'harbour': 'Genoa', 'metres': 320}]",
        "advice     succeeded It can go to Genoa.",
        "regret     skipped ",
        "achieved It can go to Genoa.",
    ],
}


SIDE_BY_SIDE = {"01_goal_to_answer"}
"""Examples whose steps run at once, so that their lines come in any order."""


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_an_example_prints_what_it_promises(name: str) -> None:
    """A fresh interpreter runs the file, and its output is the one that is written down."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / f"{name}.py")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PATH": "", "PYTHONPATH": str(ROOT)},
        check=False,
    )

    ordered = sorted if name in SIDE_BY_SIDE else list
    assert ("", ordered(PRINTED[name])) == (ran.stderr, ordered(ran.stdout.splitlines()))


def test_every_example_is_run() -> None:
    """No example is left out."""
    assert {path.stem for path in (ROOT / "examples").glob("[0-9]*.py")} == set(PRINTED)
