"""A proxy as the business of a whole process: start, serve until a signal, let the connections leave.

SIGTERM and SIGINT stop it within `proxyReadinessDelayMs` and `proxyShutdownTimeoutMs`; a second one ends the process at
once.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from broker_core import __version__
from broker_core.proxy.server import Proxy
from broker_core.server.running import run_loop, stop_on_signals


def run(proxy: Proxy, announce: Callable[[dict[str, str | int]], None]) -> None:
    """Serves until a signal; `announce` is called with the addresses once the proxy answers.

    Raises what keeps the proxy from starting: `PortInUse`, `InvalidConfiguration`, `OSError`.
    """
    run_loop(_serve(proxy, announce))


async def _serve(proxy: Proxy, announce: Callable[[dict[str, str | int]], None]) -> None:
    stop = stop_on_signals()
    await proxy.start()
    try:
        announce(addresses(proxy))
        await stop.wait()
    finally:
        await proxy.stop()


def addresses(proxy: Proxy) -> dict[str, str | int]:
    """The content of the ready file and of `--print-urls json`."""
    tls = {"service_url_tls": proxy.service_url_tls, "http_url_tls": proxy.http_url_tls}
    return {
        "pid": os.getpid(),
        "service_url": proxy.service_url,
        "http_url": proxy.http_url,
        "version": __version__,
        **{key: url for key, url in tls.items() if url},
    }
