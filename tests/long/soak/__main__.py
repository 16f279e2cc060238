"""`make soak ROUNDS=200`: prints a report and exits with 0 if no acknowledged message was lost or out of order."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.long.soak.rounds import Soak, Tally

REPORT_EVERY = 10


def main() -> int:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000, help="of the moments of the kills")
    parser.add_argument("--dir", type=Path, help="where the data directory is made (default: a temporary one)")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="soak-", dir=options.dir) as scratch:
        tally = run(Path(scratch), options.rounds, options.seed)
    print("\n".join(tally.failures))
    print(f"{tally} in {time.monotonic() - started:.0f} s")
    return 0 if tally.ok else 1


def run(directory: Path, rounds: int, seed: int) -> Tally:
    soak = Soak(directory, seed)
    try:
        for number in range(1, rounds + 1):
            soak.round()
            if number % REPORT_EVERY == 0:
                print(soak.tally, flush=True)
        soak.read_everything()
    finally:
        soak.close()
    return soak.tally


if __name__ == "__main__":
    sys.exit(main())
