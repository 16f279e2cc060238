"""The connection objects of a broker in this process."""

from typing import cast

from broker_core.broker import Broker
from broker_core.server.connection import Connection


def connections(broker: Broker) -> list[Connection]:
    return cast(list[Connection], list(broker.connections))
