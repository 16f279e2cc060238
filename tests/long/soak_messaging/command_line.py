"""The command line of a long run: the number of rounds and the seed."""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def run_rounds(
    name: str,
    doc: str | None,
    run: Callable[[Path, int, int], T],
    *,
    held: Callable[[T], bool],
    report: Callable[[T], str] = str,
) -> int:
    """Calls `run(directory, rounds, seed)` with a new directory; returns the exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.long.soak_messaging.{name}", description=doc)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000, help="of the moments of the kills")
    options = parser.parse_args()
    print(f"{options.rounds} rounds, seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix=f"soak-{name}-") as scratch:
        outcome = run(Path(scratch), options.rounds, options.seed)
    print(report(outcome))
    return 0 if held(outcome) else 1
