"""The end of a proxy: connections leave when no request runs on them, and at the deadline in any case.

Clients look up their topics again and connect to another proxy. A connection that is closed between two messages loses
nothing, and one that is closed while a message waits for its receipt makes the client send the message again.
"""

from __future__ import annotations

import asyncio

from broker_core.proxy.gateway import Gateway
from broker_core.proxy.splice import GOODBYE_SECONDS, Splice

QUIET_SECONDS = 0.2  # without a byte in either direction, after which a splice may end


async def drain(gateway: Gateway, seconds: float) -> bool:
    """Return whether every connection became idle within that time; those that did not are closed."""
    progress: dict[Splice, tuple[int, int]] = {}
    deadline = asyncio.get_running_loop().time() + seconds
    while not await gateway.empty_within(QUIET_SECONDS):
        if asyncio.get_running_loop().time() >= deadline:
            await _close_rest(gateway)
            return False
        _close_idle(gateway, progress)
    return True


def _close_idle(gateway: Gateway, progress: dict[Splice, tuple[int, int]]) -> None:
    for client in [client for client in gateway.clients if not client.is_asking]:
        client.close()
    for splice in list(gateway.splices):
        if progress.get(splice) == splice.progress:
            splice.close()
        progress[splice] = splice.progress


async def _close_rest(gateway: Gateway) -> None:
    for client in list(gateway.clients):
        client.close()
    for splice in list(gateway.splices):
        splice.close()
    await gateway.empty_within(GOODBYE_SECONDS)
