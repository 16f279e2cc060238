"""Gives memory that the broker has freed back to the system, in a process that runs only the broker.

Buffers of megabytes come and go: chunks of sockets, groups of the journal, bodies of requests. glibc keeps their pages
for the next ones, so a process keeps the memory of its worst moment. Lower thresholds (mallopt(3)) would prevent that,
but then each large message pays for fresh pages, which doubles its cost. Trimming now and then costs nothing while
little is free, and at most one round of fresh pages per interval otherwise.
"""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable

INTERVAL_SECONDS = 10.0
FREE_BYTES = 32 << 20  # less is not worth trimming


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


def trimmer() -> Callable[[], None] | None:
    """Trims if enough is free; None where the C library is not glibc, or older than 2.33. Blocks for milliseconds."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2") or not hasattr(library, "malloc_trim"):
        return None
    library.mallinfo2.restype = MallInfo

    def trim() -> None:
        if library.mallinfo2().fordblks > FREE_BYTES:
            library.malloc_trim(0)

    return trim


async def trim_forever() -> None:
    """In a thread: the calls release the interpreter's lock."""
    trim = trimmer()
    while trim is not None:
        await asyncio.sleep(INTERVAL_SECONDS)
        await asyncio.to_thread(trim)
