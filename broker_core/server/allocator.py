"""Gives memory that the broker has freed back to the system, in a process that runs only the broker.

Buffers of megabytes come and go: chunks of sockets, groups of the journal, bodies of requests. glibc keeps their pages
for the next ones, so a process keeps the memory of its worst moment. Lower thresholds (mallopt(3)) would prevent that,
but then each large message pays for fresh pages, which doubles its cost. Trimming takes about 15 ms, and 0.15 ms for
each megabyte that it gives back, and an allocation of another thread waits for it. So a busy broker trims less often.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

FREE_WHEN_IDLE = 32 << 20  # bytes; less is not worth trimming
FREE_WHEN_BUSY = 64 << 20  # trimming that takes about 25 ms


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


def trimmer() -> Callable[[int], None] | None:
    """Trims if at least that number of bytes is free; None where the C library is not glibc, or older than 2.33."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2") or not hasattr(library, "malloc_trim"):
        return None
    library.mallinfo2.restype = MallInfo

    def trim(least: int) -> None:
        if library.mallinfo2().fordblks >= least:
            library.malloc_trim(0)

    return trim
