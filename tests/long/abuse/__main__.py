"""`make abuse MINUTES=30`: hostile input against a live broker; exits with 0 if it found no failure."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.long.abuse.known import KNOWN
from tests.long.abuse.run import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="make abuse", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000, help="of the order and the values")
    parser.add_argument("--dir", type=Path, help="where the data directory is made (default: a temporary one)")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    for pattern, reason in KNOWN.items():
        print(f"left out: {pattern}: {reason}")
    with tempfile.TemporaryDirectory(prefix="abuse-", dir=options.dir) as scratch:
        report = run(Path(scratch), options.minutes * 60, options.seed)
    failures = report.failures()
    print(*failures, sep="\n")
    print(report)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
