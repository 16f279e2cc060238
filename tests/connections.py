"""The connections of a broker in this process, as the objects they are."""

from typing import cast

from broker_core.broker import Broker
from broker_core.server.connection import Connection


def connections(broker: Broker) -> list[Connection]:
    return cast(list[Connection], list(broker.connections))
