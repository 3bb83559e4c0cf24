"""Nothing that a model or an endpoint may send breaks us: a slice of what benchmarks/fuzz.py tries."""

from random import Random

import pytest

from tests.noise import ANTHROPIC, OPENAI, Protocol, noisy_answer, noisy_text, read_answer, read_text


@pytest.mark.parametrize("slice_", range(4))
def test_noisy_texts(slice_: int) -> None:
    """Whatever the text, `extract_json` returns a value or says why there is none."""
    for n in range(100):
        die = Random(f"texts {slice_} {n}")
        read_text(noisy_text(die), die)


@pytest.mark.anyio
@pytest.mark.parametrize("slice_", range(4))
@pytest.mark.parametrize("protocol", [pytest.param(OPENAI, id="openai"), pytest.param(ANTHROPIC, id="anthropic")])
async def test_noisy_answers(slice_: int, protocol: Protocol) -> None:
    """Whatever the answer, it is a reply that can be written down and sent back, or a `ModelError`."""
    for n in range(100):
        await read_answer(*noisy_answer(Random(f"answers {slice_} {n}"), protocol), protocol)
