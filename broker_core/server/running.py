"""The parts that every serving process needs: an event loop, an end by a signal, and files for its owner only."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from broker_core.config.descriptors import raise_limit

log = logging.getLogger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def run_loop(main: Coroutine[Any, Any, None]) -> None:
    """Runs the business of the process on the fastest event loop that is installed."""
    raise_limit()
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


def stop_on_signals() -> asyncio.Event:
    """An event that SIGTERM or SIGINT sets; a second one ends the process at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, _on_signal, stop, number)
    return stop


def _on_signal(stop: asyncio.Event, number: int) -> None:
    if stop.is_set():
        os._exit(128 + number)
    log.info("stopping; a second signal ends the process at once", extra={"signal": signal.Signals(number).name})
    stop.set()


def write_private(path: Path, text: str) -> None:
    """Whole or not at all, readable by its owner only."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)  # a file of a killed process, or another user's link
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    temporary.replace(path)
