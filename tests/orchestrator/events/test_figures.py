"""A run's figures, as programs read them."""

import json
from decimal import Decimal

from msgspec.structs import replace

from orchestrator.events.figures import plain, told
from tests.orchestrator.events.samples import REPORT, SUMMARY


def test_only_what_was_limited_is_told() -> None:
    """Money as text; without limits there is nothing to tell."""
    figures = told(replace(SUMMARY, budget=replace(REPORT, near=None)))

    assert {
        "limits": {"requests": 10, "cost": "0.5"},
        "spent": {"requests": 9, "cost": "0.41"},
        "estimated": 1,
        "near": None,
    } == figures["budget"]
    assert "budget" not in told(SUMMARY)


def test_a_summary_as_plain_json() -> None:
    """Field by field, and without a value that JSON has not."""
    limited = plain(replace(SUMMARY, budget=REPORT))

    assert limited == json.loads(json.dumps(limited)) | {"overlapped": SUMMARY.overlapped}
    assert ("cost", None) == (limited["budget"]["near"], plain(SUMMARY)["budget"])


def test_money_is_written_out() -> None:
    """However small it is."""
    usage = replace(SUMMARY.usage, cost=Decimal("1E-7"))

    assert "0.0000001" == told(replace(SUMMARY, usage=usage))["usage"]["cost"]
