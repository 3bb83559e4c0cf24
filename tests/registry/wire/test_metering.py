"""What endpoints tell of tokens becomes usage."""

import pytest

from registry.messages import Json
from registry.usage import UNMETERED, Usage
from registry.wire.metering import MOST, usage_of


@pytest.mark.parametrize(
    ("usage", "right"),
    [
        pytest.param(None, UNMETERED, id="null"),
        pytest.param({}, UNMETERED, id="empty"),
        pytest.param({"prompt_tokens": 0, "completion_tokens": 0}, UNMETERED, id="zeros tell nothing"),
        pytest.param(
            {"prompt_tokens": float("inf"), "completion_tokens": 10**30}, UNMETERED, id="neither does what nobody counts"
        ),
        pytest.param({"prompt_tokens": 5}, Usage(requests=1, input_tokens=5, unmetered=1), id="half is a lower bound"),
        pytest.param({"prompt_tokens": 5, "completion_tokens": 0}, Usage(requests=1, input_tokens=5), id="nothing said"),
        pytest.param(
            {
                "prompt_tokens": 500,
                "completion_tokens": 200,
                "total_tokens": 700,
                "prompt_tokens_details": {"cached_tokens": 400},
                "completion_tokens_details": {"reasoning_tokens": 50},
            },
            Usage(requests=1, input_tokens=500, output_tokens=200, cache_read_tokens=400, reasoning_tokens=50),
            id="details",
        ),
        pytest.param(
            {
                "prompt_tokens": 5,
                "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": None},
                "completion_tokens_details": None,
            },
            Usage(requests=1, input_tokens=5, output_tokens=2),
            id="null details",
        ),
        pytest.param(
            {"input_tokens": 12, "cache_read_input_tokens": 20400, "cache_creation_input_tokens": 0, "output_tokens": 10},
            Usage(requests=1, input_tokens=20412, output_tokens=10, cache_read_tokens=20400),
            id="input without the cache",
        ),
        pytest.param(
            {
                "prompt_tokens": 10,
                "completion_tokens": 2,
                "total_tokens": 19,
                "completion_tokens_details": {"reasoning_tokens": 7},
            },
            Usage(requests=1, input_tokens=10, output_tokens=9, reasoning_tokens=7),
            id="output without the thinking",
        ),
        pytest.param(
            {"prompt_tokens": 5.0, "completion_tokens": 2.7, "queue_time": 0.1},
            Usage(requests=1, input_tokens=5, output_tokens=2),
            id="fractions",
        ),
        pytest.param({"prompt_tokens": 5, "\ud83d": 1}, Usage(requests=1, input_tokens=5, unmetered=1), id="half a character"),
        pytest.param(
            {"prompt_tokens": "5", "input_tokens": 6, "completion_tokens": -1, "output_tokens": True},
            Usage(requests=1, input_tokens=6, unmetered=1),
            id="no counts",
        ),
        pytest.param(
            {"prompt_tokens": MOST, "completion_tokens": MOST + 1},
            Usage(requests=1, input_tokens=MOST, unmetered=1),
            id="too many",
        ),
        pytest.param(
            {
                "prompt_tokens": 5,
                "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 3, "audio_tokens": 0, "cache_write_tokens": "1"},
                "completion_tokens_details": 4,
            },
            Usage(requests=1, input_tokens=5, output_tokens=2, cache_read_tokens=3),
            id="no counts among the details",
        ),
    ],
)
def test_usage(usage: Json, right: Usage) -> None:
    """Input includes what was cached, output what was thought; unknown never turns into zero."""
    assert right == usage_of(usage)
