"""stdin, stdout, and stderr of the process; only `render` and `outgoing` use them.

Text for a terminal is escaped here. Failing to write to stdout is an error of the command; failing to write to stderr
is not.
"""

import contextlib
import errno
import os
import select
import stat
import sys
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TextIO

from pulsarctl.errors import CliError
from pulsarctl.output.terminal_text import escaped, escaped_bytes

PIPE_BYTES = 4096  # a pipe that is ready takes this much without blocking (PIPE_BUF)
WAIT_MS = 100  # maximum delay of an interruption while the reader of our output is slow


def open_missing() -> None:
    """Opens the null device for each closed standard descriptor, so that no socket or file gets its number."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def out(text: str) -> None:
    """Raises `BrokenPipeError` or `CliError`."""
    out_control(escaped(text) if is_terminal(sys.stdout) else text)


def out_control(text: str) -> None:
    """Our own control sequences; what else it shows must be safe already. Raises `BrokenPipeError` or `CliError`."""
    stream = _stdout()
    try:
        stream.write(text)
    except OSError as error:
        raise _unwritable(error) from error


def out_bytes(data: bytes) -> None:
    """Writes bytes; the caller flushes. Raises `BrokenPipeError` or `CliError`."""
    stream = _stdout()
    try:
        stream.buffer.write(escaped_bytes(data) if stream.isatty() else data)
    except OSError as error:
        raise _unwritable(error) from error


def out_pieces(pieces: Sequence[bytes], is_interrupted: Callable[[], bool]) -> tuple[int, Exception | None]:
    """Writes the pieces without buffering; returns the number written completely, and the error of the others.

    After an interruption, it stops when it would have to wait for the reader of our output.
    """
    stream = _stdout()
    flush_out()
    if stream.isatty():
        pieces = [escaped_bytes(piece) for piece in pieces]
    data = memoryview(b"".join(pieces))
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):  # a test's buffer
        stream.buffer.write(data)
        return len(pieces), None
    written, problem = _write(descriptor, data, is_interrupted)
    complete = sum(end <= written for end in accumulate(len(piece) for piece in pieces))
    return complete, problem if problem is None else _unwritable(problem)


def flush_out() -> None:
    """Raises `BrokenPipeError` or `CliError`."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError as error:
        raise _unwritable(error) from error


def err(text: str) -> None:
    if sys.stderr is not None:
        err_control(escaped(text) if sys.stderr.isatty() else text)


def err_control(text: str) -> None:
    """Writes our own control sequences. Other text must be escaped already."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def stdin() -> TextIO:
    """Raises `CliError` if it is closed."""
    if sys.stdin is None:
        raise CliError("cannot read stdin: it is closed")
    return sys.stdin


def guard_out() -> None:
    """Reserves stdout for this module: descriptor 1 becomes stderr, and `sys.stdout` a copy of the original.

    The library of the official client writes its log to descriptor 1. If stdout has no descriptor (in a test), there is
    nothing to guard.
    """
    try:
        if sys.stdout is None or sys.stdout.fileno() != 1:
            return
    except (OSError, ValueError):
        return
    flush_out()
    real = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(real, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)


def abandon_out() -> None:
    """Discards what is still buffered, so that the interpreter ends quietly."""
    if sys.stdout is not None:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write(descriptor: int, data: memoryview, is_interrupted: Callable[[], bool]) -> tuple[int, OSError | None]:
    at_once = len(data) if stat.S_ISREG(os.fstat(descriptor).st_mode) else PIPE_BYTES
    ready = select.poll()
    ready.register(descriptor, select.POLLOUT)
    written = 0
    try:
        while written < len(data):
            while not ready.poll(WAIT_MS):
                if is_interrupted():
                    return written, None
            written += os.write(descriptor, data[written : written + at_once])
    except OSError as error:
        return written, error
    return written, None


def _stdout() -> TextIO:
    if sys.stdout is None:
        raise CliError("cannot write to stdout: it is closed")
    return sys.stdout


def _unwritable(error: OSError) -> Exception:
    """The error to raise: a closed pipe is left to the caller, and every other error is a failure."""
    if error.errno == errno.EPIPE:
        return error
    abandon_out()
    return CliError(f"cannot write to stdout: {error.strerror}")
