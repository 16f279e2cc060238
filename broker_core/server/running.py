"""The parts that every serving process needs: an event loop, and an end by a signal."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Coroutine
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
