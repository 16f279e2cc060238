"""`make powercut`: records a load and opens the disk after every possible power cut."""

import argparse
import multiprocessing
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.long.powercut.recorded_load import Recording, record
from tests.long.powercut.verify import Failure, cuts, verify

SHOWN = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="make powercut", description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--torn", type=int, default=2, help="random images at each call, beside the settled one")
    parser.add_argument("--every", type=int, default=1, help="open only every Nth cut")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="powercut-") as scratch:
        recording = record(Path(scratch) / "data", options.messages)
    describe(recording, options.messages)
    opened, failures = verify_in_parallel(recording, options)
    for failure in failures[:SHOWN]:
        print(failure)
    print(f"{opened:,} images opened, {len(failures):,} failures")
    return 1 if failures else 0


def describe(recording: Recording, messages: int) -> None:
    kinds = Counter(type(call).__name__ for call in recording.calls)
    listed = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
    print(f"recorded {len(recording.calls):,} calls under {messages:,} messages: {listed}", flush=True)


def verify_in_parallel(recording: Recording, options: argparse.Namespace) -> tuple[int, list[Failure]]:
    """Each process replays all calls and opens its share of the images."""
    prefixes = cuts(recording)[:: options.every]
    shares = [(recording, prefixes[number :: options.jobs], options.torn) for number in range(options.jobs)]
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        results = pool.starmap(verify, shares)
    failures = sorted((failure for _, found in results for failure in found), key=lambda f: (f.prefix, f.seed or -1))
    return sum(opened for opened, _ in results), failures


if __name__ == "__main__":
    sys.exit(main())
