"""Cuts the power after each recorded call and opens the result."""

import logging
import random
import shutil
import tempfile
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.long.powercut.calls import Changed, Ended, Receipt
from tests.long.powercut.contents import open_and_read
from tests.long.powercut.platter import Image, Platter
from tests.long.powercut.recorded_load import Recording
from tests.long.powercut.segments import problem_of_segments
from tests.long.powercut.transactions import problem_of

MEMORY_DISK = Path("/dev/shm")


@dataclass(frozen=True)
class Failure:
    prefix: int  # calls before the power cut
    seed: int | None  # of the torn image; None is the settled one
    reason: str

    def __str__(self) -> str:
        image = "nothing unsynced" if self.seed is None else f"torn with seed {self.seed}"
        return f"after {self.prefix} calls, {image}: {self.reason}"


def cuts(recording: Recording) -> list[int]:
    """Every number of calls after which to cut the power.

    An answer changes nothing on the disk. Of several in a row, only the last one is tried, since the image is the same
    and must contain the entries of all of them.
    """
    calls = recording.calls
    last = len(calls)
    return [
        taken for taken in range(last + 1) if taken == last or not isinstance(calls[taken], Receipt | Ended | Changed)
    ]


def verify(recording: Recording, prefixes: Iterable[int], torn: int) -> tuple[int, list[Failure]]:
    """Opens the settled image and `torn` random ones at each prefix; (images opened, failures)."""
    opened, failures = 0, []
    platter, wanted = Platter(), set(prefixes)
    for taken in range(len(recording.calls) + 1):
        if taken in wanted:
            for seed in (None, *range(torn)):
                reason = cut(platter, recording, taken, seed)
                opened += 1
                if reason:
                    failures.append(Failure(taken, seed, reason))
        if taken < len(recording.calls):
            platter.take(recording.calls[taken])
    return opened, failures


def cut(platter: Platter, recording: Recording, prefix: int, seed: int | None) -> str:
    """Why the image lacks an acknowledged entry, or a part of a transaction or layout; empty if it does not."""
    image = platter.settled() if seed is None else platter.torn(random.Random(f"{prefix} {seed}"))
    parent = MEMORY_DISK if MEMORY_DISK.is_dir() else None
    root = Path(tempfile.mkdtemp(prefix="powercut-", dir=parent))
    try:
        return missing(image, root, recording, platter)
    finally:
        shutil.rmtree(root)


def missing(image: Image, root: Path, recording: Recording, promised: Platter) -> str:
    image.lay_out(root)
    transactions = recording.transactions
    with Tracebacks() as tracebacks:
        try:
            found = open_and_read(root, [transaction.source for transaction in transactions.values()])
        except Exception as error:
            return f"does not open: {_place(error)}"
    if tracebacks.errors:
        return f"a traceback in the log: {_place(tracebacks.errors[0])}"
    gone = sorted(promised.subscriptions - found.subscriptions)
    if gone:
        return f"{len(gone)} of {len(promised.subscriptions)} subscriptions are lost, first {gone[0]}"
    receipted = {position: recording.contents[position] for position in promised.receipts}
    lost = sorted(position for position in receipted if position not in found.entries)
    if lost:
        return f"{len(lost)} of {len(receipted)} receipted entries are lost, first {lost[0]}"
    changed = sorted(position for position, entry in receipted.items() if found.entries[position] != entry)
    if changed:
        return f"{len(changed)} receipted entries have other bytes, first {changed[0]}"
    return problem_of(transactions, promised.ended, found.effects) or problem_of_segments(
        recording.layouts, promised.epoch, found.segments
    )


class Tracebacks(logging.Handler):
    """Collects the errors that are logged with a traceback: no task of the storage may fail after a power cut."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self.errors.append(record.exc_info[1])

    def __enter__(self) -> Self:
        logging.getLogger().addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self)


def _place(error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{error!r} at {last.filename}:{last.lineno}"
