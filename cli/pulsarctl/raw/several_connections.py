"""Waiting for what arrives on any of several connections."""

import selectors
import time
from collections.abc import Collection

from pulsarctl.raw.broker_connection import Arrived, BrokerConnection, ConnectionLost

READY_SECONDS = 0.05  # how long to read from a socket that is readable


def next_arrival(connections: Collection[BrokerConnection], deadline: float) -> Arrived | None:
    """The next item, or None if none arrives until `deadline` (monotonic seconds).

    Raises `ConnectionLost`, also for a connection that was lost before, such as by a failed `send`.
    """
    while True:
        for connection in connections:
            if connection.arrived:
                return connection.arrived.popleft()
        if not _receive(connections, deadline):
            return None


def _receive(connections: Collection[BrokerConnection], deadline: float) -> bool:
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            if connection.is_lost:  # its socket is closed, which no selector takes
                raise ConnectionLost(f"lost the connection to {connection.url}", request=connection.url)
            selector.register(connection, selectors.EVENT_READ, connection)
        ready = selector.select(max(deadline - time.monotonic(), 0))
    for key, _ in ready:
        # In TLS, a part of a record, or a message of TLS itself, does not count as data.
        key.data.receive(max(deadline, time.monotonic() + READY_SECONDS))
    return bool(ready)
