"""What endpoints say of their limits is read from headers, whichever dialect they speak."""

import httpx
import pytest

from registry.allowances import Allowance, Allowances, allowances_in

DATE = {"date": "Mon, 30 Nov 2026 12:00:00 GMT"}


def openai(reset: str) -> dict[str, str]:
    return {
        "x-ratelimit-limit-requests": "500",
        "x-ratelimit-remaining-requests": "499",
        "x-ratelimit-reset-requests": reset,
    }


@pytest.mark.parametrize(
    ("reset", "seconds"),
    [
        pytest.param("120ms", 0.12, id="milliseconds"),
        pytest.param("1.5s", 1.5, id="seconds"),
        pytest.param("6m0s", 360.0, id="minutes and seconds"),
        pytest.param("1d2h3m4s", 93784.0, id="days"),
        pytest.param("2m59.56s", 179.56, id="a fraction"),
        pytest.param("12", 12.0, id="a number"),
        pytest.param("", None, id="nothing"),
        pytest.param("soon", None, id="a word"),
        pytest.param("-1s", None, id="the past"),
    ],
)
def test_durations(reset, seconds):
    """A reset is a duration as Go writes it, or a plain number of seconds; what is neither says nothing."""
    said = allowances_in(openai(reset))

    assert Allowances(requests=Allowance(limit=500, remaining=499, reset=seconds)) == said


@pytest.mark.parametrize(
    ("reset", "headers", "seconds"),
    [
        pytest.param("2026-11-30T12:00:30Z", DATE, 30.0, id="ahead"),
        pytest.param("2026-11-30T13:00:30+01:00", DATE, 30.0, id="in another zone"),
        pytest.param("2026-11-30T11:59:00Z", DATE, 0.0, id="past"),
        pytest.param("2026-11-30T12:00:30Z", {}, None, id="no date to count from"),
        pytest.param("2026-11-30T12:00:30", DATE, None, id="no zone"),
        pytest.param("later", DATE, None, id="no moment"),
    ],
)
def test_moments(reset, headers, seconds):
    """Anthropic's reset is a moment. It counts from the answer's own date, so no clock of ours is asked."""
    given = {
        "anthropic-ratelimit-tokens-limit": "80000",
        "anthropic-ratelimit-tokens-remaining": "79000",
        "anthropic-ratelimit-tokens-reset": reset,
    }

    assert Allowances(tokens=Allowance(limit=80000, remaining=79000, reset=seconds)) == allowances_in({**given, **headers})


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"retry-after": "3"}, id="something else"),
    ],
)
def test_nothing_is_said(headers):
    """Most answers say nothing of limits."""
    assert allowances_in(headers) is None


@pytest.mark.parametrize(("limit", "remaining"), [("0", "0"), ("", "5"), ("5", ""), ("many", "5"), ("-1", "0")])
def test_what_is_no_limit_says_nothing(limit, remaining):
    """Half of it, or what is no number, is not gone by."""
    said = allowances_in({"x-ratelimit-limit-requests": limit, "x-ratelimit-remaining-requests": remaining})

    assert Allowances() == said


def test_names_in_any_case():
    """The headers of an HTTP library ignore case."""
    headers = httpx.Headers({name.upper(): value for name, value in openai("1s").items()})

    assert allowances_in(headers) == allowances_in(openai("1s"))


@pytest.mark.parametrize(
    ("allowance", "rate"),
    [
        pytest.param(Allowance(limit=500, remaining=499, reset=0.12), 1 / 0.12, id="for a minute"),
        pytest.param(Allowance(limit=14_400, remaining=14_370, reset=180.0), 1 / 6, id="for a day"),
        pytest.param(Allowance(limit=20, remaining=0, reset=1.0), 20.0, id="for a second"),
        pytest.param(Allowance(limit=120, remaining=120, reset=0.0), 2.0, id="full"),
        pytest.param(Allowance(limit=120, remaining=60), 2.0, id="nothing said of when"),
    ],
)
def test_how_fast_it_fills(allowance, rate):
    """From what is taken and when it will be back; a limit alone is taken to be for a minute."""
    assert rate == pytest.approx(allowance.rate)
