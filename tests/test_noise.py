"""Nothing that a model or an endpoint may send breaks us: a slice of what benchmarks/fuzz.py tries."""

from random import Random

import pytest

from tests.noise import MEDIA, noisy_stream, noisy_text, read_stream, read_text


@pytest.mark.parametrize("slice_", range(4))
def test_noisy_texts(slice_: int) -> None:
    """Whatever the text, `extract_json` returns a value or says why there is none."""
    for n in range(100):
        die = Random(f"texts {slice_} {n}")
        read_text(noisy_text(die), die)


@pytest.mark.anyio
@pytest.mark.parametrize("slice_", range(4))
async def test_noisy_streams(slice_: int) -> None:
    """Whatever the stream, its pieces add up to a reply that can be written down, or it ends with a `ModelError`."""
    for n in range(100):
        die = Random(f"streams {slice_} {n}")
        await read_stream(noisy_stream(die), die.choice(MEDIA))
