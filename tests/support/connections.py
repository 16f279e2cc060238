"""The connection objects of a broker in this process."""

from typing import cast

from broker_core.broker import Broker
from broker_core.server.connection import Connection
from broker_core.testing import EmbeddedBroker
from tests.support.condition import wait_until


def connections(broker: Broker) -> list[Connection]:
    return cast(list[Connection], list(broker.connections))


def end_connections(broker: EmbeddedBroker) -> None:
    """Ends every connection; returns when the broker has forgotten them."""
    ended = connections(broker.broker)

    async def close() -> None:
        for connection in ended:
            connection.close()

    broker.call(close())
    wait_until(lambda: broker.broker.connections.isdisjoint(ended), 10)
