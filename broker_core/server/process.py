"""A broker as the business of a whole process: start, serve until a signal, stop.

SIGTERM and SIGINT stop it cleanly within `brokerShutdownTimeoutMs`; a second one ends the process at once,
which is safe: what was acknowledged is on disk. While it serves, `owner.json` in the data directory names its
addresses to other commands on this machine (mode 0600: who may read the data may use the broker).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from broker_core import __version__
from broker_core.server.collector import Collector
from broker_core.server.idle_work import work_when_idle

if TYPE_CHECKING:
    from broker_core.server.server import Server

log = logging.getLogger(__name__)

OWNER_FILE = "owner.json"
SIGNALS = (signal.SIGTERM, signal.SIGINT)


def run(server: Server, announce: Callable[[dict[str, str | int]], None]) -> None:
    """Serves until a signal; `announce` is called with the addresses once the broker answers.

    Raises what keeps the broker from starting: `PortInUse`, `StorageError`, `OSError`.
    """
    try:
        import uvloop
    except ImportError:
        asyncio.run(_serve(server, announce))
    else:
        uvloop.run(_serve(server, announce))


async def _serve(server: Server, announce: Callable[[dict[str, str | int]], None]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, _on_signal, stop, number)
    await server.start()
    urls = addresses(server)
    owner = server.directory / OWNER_FILE
    write_private(owner, json.dumps(urls))
    try:
        announce(urls)
        server.broker.on_shutdown = stop.set
        await server.admin_started()
        collector = Collector()
        collector.start()
        server.broker.spawn(work_when_idle(collector))
        await stop.wait()
    finally:
        owner.unlink(missing_ok=True)
        await _stop(server)


async def _stop(server: Server) -> None:
    try:
        await server.stop()
    except TimeoutError:
        log.warning("the broker did not stop in time; what was acknowledged is on disk")


def _on_signal(stop: asyncio.Event, number: int) -> None:
    if stop.is_set():
        os._exit(128 + number)
    log.info("stopping; a second signal ends the process at once", extra={"signal": signal.Signals(number).name})
    stop.set()


def addresses(server: Server) -> dict[str, str | int]:
    """What the ready file, `--print-urls json` and `owner.json` say."""
    broker = server.broker
    tls = {"service_url_tls": broker.service_url_tls, "http_url_tls": broker.http_url_tls}
    return {
        "pid": os.getpid(),
        "service_url": broker.main_service_url,
        "http_url": broker.main_http_url,
        "data_dir": str(server.directory),
        "version": __version__,
        **{key: url for key, url in tls.items() if url},
    }


def write_private(path: Path, text: str) -> None:
    """Whole or not at all, readable by its owner only."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)  # of a killed process, or a link that another user left in a shared folder
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    temporary.replace(path)
