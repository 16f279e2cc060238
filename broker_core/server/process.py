"""A broker as the business of a whole process: start, serve until a signal, stop.

SIGTERM and SIGINT stop it cleanly within `brokerShutdownTimeoutMs`; a second one ends the process at once,
which is safe: what was acknowledged is on disk. While it serves, `owner.json` in the data directory names its
addresses to other commands on this machine (mode 0600: who may read the data may use the broker).
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core import __version__
from broker_core.security.private_files import write_private
from broker_core.server.running import run_loop, stop_on_signals

if TYPE_CHECKING:
    from broker_core.server.server import Server

log = logging.getLogger(__name__)

OWNER_FILE = "owner.json"


def run(server: Server, announce: Callable[[dict[str, str | int]], None]) -> None:
    """Serves until a signal; `announce` is called with the addresses once the broker answers.

    Raises what keeps the broker from starting: `PortInUse`, `StorageError`, `OSError`.
    """
    run_loop(_serve(server, announce))


async def _serve(server: Server, announce: Callable[[dict[str, str | int]], None]) -> None:
    stop = stop_on_signals()
    await server.start()
    urls = addresses(server)
    owner = server.directory / OWNER_FILE
    write_private(owner, json.dumps(urls).encode() + b"\n")
    try:
        announce(urls)
        server.broker.on_shutdown = stop.set
        from broker_core.server.collector import Collector  # clients need not wait for these
        from broker_core.server.idle_work import work_when_idle

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
        log.warning("the broker did not stop in time; all acknowledged messages are on disk")


def addresses(server: Server) -> dict[str, str | int]:
    """The content of the ready file, of `--print-urls json`, and of `owner.json`."""
    broker = server.broker
    tls = {"service_url_tls": broker.service_url_tls, "http_url_tls": broker.http_url_tls}
    return {
        "pid": os.getpid(),
        "service_url": broker.main_service_url,
        "http_url": broker.main_http_url,
        "data_dir": str(server.directory),
        "version": __version__,
        **{key: url for key, url in tls.items() if url},
        **({"tls_trust_cert": server.authority_file} if server.authority_file else {}),
    }
