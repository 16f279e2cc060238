"""Gives memory that the broker has freed back to the system, in a process that runs only the broker.

Buffers of megabytes come and go: chunks of sockets, groups of the journal, bodies of requests. glibc keeps their pages
for the next ones, so a process keeps the memory of its worst moment. Lower thresholds (mallopt(3)) would prevent that,
but then each large message pays for fresh pages, which doubles its cost. Trimming takes about 15 ms, and 0.15 to 0.4 ms
for each megabyte that it gives back, and an allocation of another thread waits for it. So a busy broker trims only
after a burst that left much memory free.
And a broker trims again only after it has grown, or has freed more: what it has given back counts as free, too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from broker_core.stats.broker_load import resident_bytes

FREE_WHEN_IDLE = 4 << 20  # bytes; less is not worth trimming
FREE_WHEN_BUSY = 256 << 20  # worth a pause of 50 to 100 ms


class MallInfo(ctypes.Structure):
    """`struct mallinfo2`; `fordblks` is free, but still the process's."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    ]


class Trimmer:
    """`trim` and `free` are calls of the C library; `resident` is the memory of the process."""

    def __init__(
        self, trim: Callable[[], object], free: Callable[[], int], resident: Callable[[], int] = resident_bytes
    ) -> None:
        self._trim = trim
        self._free = free
        self._resident = resident
        self._least = 0  # resident memory since the last trimming
        self._given_back = 0  # free, but no longer resident

    def __call__(self, enough: int) -> None:
        """Trims if that number of bytes is free, and the process has grown by or freed as many since the last time."""
        resident, free = self._resident(), self._free()
        self._least, self._given_back = min(self._least, resident), min(self._given_back, free)
        if free >= enough and max(resident - self._least, free - self._given_back) >= enough:
            self._trim()
            self._least, self._given_back = self._resident(), self._free()


def trimmer() -> Trimmer | None:
    """The function that trims the heap; None where the C library is not glibc, or older than 2.33."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2") or not hasattr(library, "malloc_trim"):
        return None
    library.mallinfo2.restype = MallInfo
    return Trimmer(lambda: library.malloc_trim(0), lambda: int(library.mallinfo2().fordblks))
