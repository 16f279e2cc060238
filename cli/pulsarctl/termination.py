"""SIGTERM as an orderly end: what a command began (a subscription, an embedded broker) is closed behind it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

TERMINATED = 128 + signal.SIGTERM


@contextmanager
def orderly_sigterm() -> Iterator[None]:
    """In the block SIGTERM unwinds the main thread, and the process leaves with 143, as a shell would show it."""
    before = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(TERMINATED)
