"""Work that was left behind because the broker no longer answers.

A thread that waits inside the official client comes back when the client gives up, perhaps while the interpreter is
being taken down, and that aborts the process. So `main` leaves without taking it down when such a thread still waits.
"""

import contextlib
import os
import sys
from collections.abc import Callable
from threading import Thread

_left: list[Thread] = []


def bounded(act: Callable[[], None], seconds: float) -> bool:
    """Runs `act` in a thread for at most `seconds`; whether it ended by then."""
    thread = in_background(act)
    thread.join(seconds)
    return not thread.is_alive()


def in_background(act: Callable[[], None]) -> Thread:
    """Runs `act` in a thread that may be left behind."""
    thread = Thread(target=act, daemon=True)
    _left.append(thread)
    thread.start()
    return thread


def leave(code: object) -> None:
    """Ends the process with this exit code if work was left behind; returns otherwise."""
    if not any(thread.is_alive() for thread in _left):
        return
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.flush()
    os._exit(code if isinstance(code, int) else 0)
