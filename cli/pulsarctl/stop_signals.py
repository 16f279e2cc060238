"""Orderly termination: on SIGINT, SIGTERM, and SIGHUP, a command closes its subscription and its embedded broker.

A signal unwinds the main thread like an exception, at any statement. Where two statements belong together, such as
printing a message and acknowledging it, `undisturbed` defers the signal until both are done.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

# Windows has no SIGHUP.
ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class _Pending:
    """The deferred signal of this process."""

    is_kept = False
    number = 0


def end_at_once() -> None:
    """Before and after a command, Ctrl-C ends the process, because there is nothing to close and nothing to say."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # an ignored signal stays ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def unwind() -> None:
    """Ctrl-C unwinds the main thread again, if `end_at_once` has changed that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def orderly_end() -> Iterator[None]:
    """In the block, the signals unwind the main thread, and the process exits with code 128 + N, as in a shell.

    Ignored signals stay ignored, for the sake of `nohup`.
    """
    before = {number: signal.getsignal(number) for number in ENDING}
    changed = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in changed:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in changed.items():
            signal.signal(number, handler)


@contextmanager
def undisturbed() -> Iterator[Callable[[], bool]]:
    """Defers signals to the end of the block; the function says whether there was one. Requires `orderly_end`."""
    _Pending.is_kept = True
    try:
        yield lambda: _Pending.number != 0
    finally:
        _Pending.is_kept = False
        number, _Pending.number = _Pending.number, 0
    if number:
        _leave(number)


def _end(number: int, _frame: FrameType | None) -> None:
    if _Pending.is_kept:
        _Pending.number = number
    else:
        _leave(number)


def _leave(number: int) -> NoReturn:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)
