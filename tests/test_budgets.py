"""A hundred requests for fifty branches: never one more, hardly one less, and an answer, whatever goes wrong. A slice of
`benchmarks/budget.py`."""

import pytest

from tests.budgets.crowd import lived

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("kills", [0, 1, 3])
@pytest.mark.parametrize("seed", [1, 2])
async def test_fifty_branches(seed: int, kills: int) -> None:
    """Undisturbed, or killed and taken up again: at most the limit in all lives, and nobody is told anything else."""
    seen = await lived(seed, kills=kills)

    assert () == seen.faults
