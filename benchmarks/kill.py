"""Whether anything is lost when processes are killed.

    python benchmarks/kill.py [--kills 500] [--halts 12]

Real processes work on the six runs of tests/scenarios, with their journal in an SQLite file, and kill themselves with SIGKILL:
after each Fact, while one is written, and when a tool has acted and nothing is written of it yet. Another process goes on, with
somebody to answer what is in doubt, and may be killed in turn. What tools did is in a folder that the engine can't read. Then
there are processes that are stopped until others have taken their runs, and let go. Exit 1 when anything was lost or repeated.
"""

import argparse
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.kills.cases import Wholes, cases, halts, killed, overtaken


def kill(folder: Path, wholes: Wholes, wanted: int) -> bool:
    """Whether all is well after so many kills."""
    kills = lost = repeated = in_doubt = 0
    for number, case in enumerate(cases(wholes)):
        if kills >= wanted:
            break
        died, verdict = killed(folder / f"{number}", case, wholes)
        kills, in_doubt = kills + died, in_doubt + verdict.in_doubt
        lost, repeated = lost + len(verdict.lost), repeated + len(verdict.repeated)
        for fault, found in (("lost", verdict.lost), ("repeated", verdict.repeated)):
            for what in found:
                print(f"{case}: {fault} {what}", file=sys.stderr)
        if number % 25 == 24:
            print(f"{kills} kills", file=sys.stderr)
    print(f"kills {kills} lost {lost} repeated {repeated} in_doubt {in_doubt}")
    return lost == repeated == 0


def halt(folder: Path, wholes: Wholes, wanted: int) -> bool:
    """Whether all is well after so many halts.

    What was repeated doesn't count here: with an effect that it was at when it was stopped, the first process goes on before it
    can know that it was overtaken.
    """
    landed = lost = 0
    for number, case in enumerate(islice(halts(), wanted)):
        late, verdict = overtaken(folder / f"halt-{number}", case, wholes)
        landed, lost = landed + late, lost + len(verdict.lost)
        for what in verdict.lost:
            print(f"{case}, halted: lost {what}", file=sys.stderr)
    print(f"halts {wanted} landed {landed} lost {lost}")
    return landed == lost == 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--halts", type=int, default=12)
    args = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        wholes = Wholes(Path(place))
        well = [kill(Path(place), wholes, args.kills), halt(Path(place), wholes, args.halts)]
    print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)
    sys.exit(not all(well))
