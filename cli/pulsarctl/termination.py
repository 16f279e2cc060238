"""SIGTERM as an orderly end: what a command began (a subscription, an embedded broker) is closed behind it."""

import signal
from types import FrameType
from typing import NoReturn

TERMINATED = 128 + signal.SIGTERM


def end_on_sigterm() -> None:
    """From here on SIGTERM unwinds the main thread and the process leaves with 143, as a shell would show it."""
    signal.signal(signal.SIGTERM, _end)


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(TERMINATED)
