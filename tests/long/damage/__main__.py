"""`make damage`: damages every kind of file in a data directory and checks what the broker serves and reports."""

import argparse
import multiprocessing
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.long.damage.injury import KINDS
from tests.long.damage.load import make_samples
from tests.long.damage.trial import Verdict, be_quiet, seeded_trial


def main() -> int:
    parser = argparse.ArgumentParser(prog="make damage", description=__doc__)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="of the first trial")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--verbose", action="store_true", help="show every trial")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="damage-") as scratch:
        parent = Path(scratch)
        samples = make_samples(parent)
        work = [
            (samples[seed // len(KINDS) % len(samples)], parent / f"trial-{seed}", seed)
            for seed in range(options.seed, options.seed + options.trials)
        ]
        with multiprocessing.get_context("spawn").Pool(options.jobs, initializer=be_quiet) as pool:
            verdicts = pool.starmap(seeded_trial, work, chunksize=1)
    return report(verdicts, verbose=options.verbose)


def report(verdicts: list[tuple[int, str, Verdict]], *, verbose: bool) -> int:
    kinds: dict[str, Counter[str]] = {}
    for seed, sample, verdict in verdicts:
        if verbose or not verdict.is_good:
            print(f"seed {seed} ({sample}): {verdict}")
        counts = kinds.setdefault(verdict.injury.kind, Counter())
        counts.update(trials=1, refused=bool(verdict.refused), named=bool(verdict.lost and not verdict.refused))
        counts.update(wrong=bool(verdict.wrong), silent=bool(verdict.silent), tracebacks=bool(verdict.tracebacks))
    columns = ("trials", "refused", "named", "wrong", "silent", "tracebacks")
    print(f"{'file':<14}" + "".join(f"{column:>12}" for column in columns))
    for kind, counts in sorted(kinds.items()):
        print(f"{kind:<14}" + "".join(f"{counts[column]:>12}" for column in columns))
    bad = sum(not verdict.is_good for _, _, verdict in verdicts)
    print(f"{len(verdicts)} trials, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
