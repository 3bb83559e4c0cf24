"""Whether anything that a model or an endpoint may send breaks us, or holds us up.

    python benchmarks/fuzz.py [--texts 20000] [--answers 20000] [--seed 1]

Texts go through `extract_json`, answers through `stream_chat`, as many for each protocol. Each case has a die of its own, so
a case that is named can be thrown again. Exit 1 when anything but a declared result or error came out, or one case took too long.
"""

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from random import Random

import anyio
from anyio.lowlevel import checkpoint

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.noise import ANTHROPIC, OPENAI, Protocol, noisy_answer, noisy_text, read_answer, read_text

PATIENCE = 0.25
"""Seconds that one case may take."""


async def one_text(die: Random) -> str:
    return read_text(noisy_text(die), die)


async def one_answer(protocol: Protocol, die: Random) -> str:
    return await read_answer(*noisy_answer(die, protocol), protocol)


async def fuzz(what: str, cases: int, seed: int, once: Callable[[Random], Awaitable[str]]) -> int:
    """How many cases went wrong."""
    counts: Counter[str] = Counter()
    taken: list[tuple[float, int]] = []
    for n in range(cases):
        began = time.perf_counter()
        try:
            counts[await once(Random(f"{seed} {what} {n}"))] += 1
        except Exception:  # noqa: BLE001 (what must not come out is what is looked for)
            counts["FAULT"] += 1
            print(f"{what} {n}:", *traceback.format_exc().splitlines()[-6:], sep="\n  ")
        taken.append((time.perf_counter() - began, n))
        await checkpoint()  # nothing here waits, and the loop wants to tidy up its timers
    slow = [n for seconds, n in taken if seconds > PATIENCE]
    print(f"{cases:,} {what}:", ", ".join(f"{kind} {count:,}" for kind, count in counts.most_common()))
    print("  slowest:", ", ".join(f"{seconds * 1000:.1f} ms (case {n})" for seconds, n in sorted(taken, reverse=True)[:3]))
    print(f"  over {PATIENCE * 1000:.0f} ms: {slow or 'none'}")
    return counts["FAULT"] + len(slow)


async def main(texts: int, answers: int, seed: int) -> int:
    wrong = await fuzz("texts", texts, seed, one_text)
    wrong += await fuzz("OpenAI answers", answers, seed, partial(one_answer, OPENAI))
    return wrong + await fuzz("Anthropic answers", answers, seed, partial(one_answer, ANTHROPIC))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--answers", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    sys.exit(1 if anyio.run(main, args.texts, args.answers, args.seed) else 0)
