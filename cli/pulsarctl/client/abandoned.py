"""Threads that are abandoned because the broker no longer answers, and the end of a process that has any.

A thread that waits in the official client returns when the client gives up. If the interpreter is shutting down by
then, that aborts the process. The threads of the client library itself call into Python, too, and outlive a close that
took too long. So `main` exits without a shutdown of the interpreter if any of these may be running.
"""

import contextlib
import os
import sys
from collections.abc import Callable
from threading import Thread

NATIVE_CLIENT = "_pulsar"  # the module of the client library

_left: list[Thread] = []


def bounded(act: Callable[[], None], seconds: float) -> bool:
    """Runs `act` in a thread and waits at most `seconds`; returns whether it ended."""
    thread = in_background(act)
    thread.join(seconds)
    return not thread.is_alive()


def in_background(act: Callable[[], None]) -> Thread:
    """Runs `act` in a thread that may be abandoned."""
    thread = Thread(target=act, daemon=True)
    _left.append(thread)
    thread.start()
    return thread


def leave(code: object) -> None:
    """Ends the process with this exit code if a thread may call into Python during a shutdown; returns otherwise.

    Everything that a command opened is closed by now, except what it abandoned.
    """
    if NATIVE_CLIENT not in sys.modules and not any(thread.is_alive() for thread in _left):
        return
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.flush()
    os._exit(code if isinstance(code, int) else 0)
