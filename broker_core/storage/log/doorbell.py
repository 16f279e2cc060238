"""Wakes the one thread that waits for work.

Ringing gives up the interpreter's lock (the GIL) for the moment of the wake-up; `threading.Condition` holds it, and
the woken thread goes straight back to sleep until it is free. A ring is never lost: one that comes before the wait
ends it at once. Several rings may end the same wait, so a woken thread checks for work and waits again without it.
"""

import contextlib
import os
from typing import Protocol

_MOST = 4096  # rings that one wait of a pipe takes


class Doorbell(Protocol):
    def ring(self) -> None:
        """Wakes the waiting thread; any thread may call it."""

    def wait(self) -> None:
        """Returns after at least one ring since the last wait."""

    def close(self) -> None:
        """Closes the doorbell, after the last ring and the last wait."""


class EventDoorbell:
    """Linux's eventfd: a counter."""

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_CLOEXEC)

    def ring(self) -> None:
        os.eventfd_write(self._fd, 1)

    def wait(self) -> None:
        os.eventfd_read(self._fd)

    def close(self) -> None:
        os.close(self._fd)


class PipeDoorbell:
    """A pipe, wherever there is no eventfd."""

    def __init__(self) -> None:
        self._waiting_end, self._ringing_end = os.pipe()
        os.set_blocking(self._ringing_end, False)

    def ring(self) -> None:
        with contextlib.suppress(BlockingIOError):  # full of rings that are still to be heard
            os.write(self._ringing_end, b"\0")

    def wait(self) -> None:
        os.read(self._waiting_end, _MOST)

    def close(self) -> None:
        os.close(self._ringing_end)
        os.close(self._waiting_end)


def doorbell() -> Doorbell:
    """The best that this platform has."""
    return EventDoorbell() if hasattr(os, "eventfd") else PipeDoorbell()
