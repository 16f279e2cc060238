"""Waiting for what arrives on several connections, of which some may be lost."""

import contextlib
import socket
import time

import pytest

from broker_core.wire import commands
from pulsarctl.auth.channel import Channel
from pulsarctl.raw.broker_connection import BrokerConnection, ConnectionLost
from pulsarctl.raw.several_connections import next_arrival
from pulsarctl.settings.addresses import Address
from pulsarctl.settings.client_security import OPEN
from tests.support.threaded_listener import ThreadedListener, address_of

SECONDS = 20.0


class Departing(ThreadedListener):
    """Answers CONNECT, and ends the connection."""

    def accepted(self, connection: socket.socket) -> None:
        self.keep(connection)
        self.start(self._answer, connection)

    def _answer(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection.recv(4096)
            connection.sendall(commands.connected("any", 19, 5 << 20, {}))
        self.drop(connection)


def test_a_connection_that_was_lost_before_the_wait_is_reported_by_the_wait() -> None:
    with Departing() as broker:
        connection = BrokerConnection(Address(*address_of(broker.url)), Channel(OPEN), timeout_seconds=SECONDS)
        with pytest.raises(ConnectionLost):
            connection.receive(time.monotonic() + SECONDS)
        with pytest.raises(ConnectionLost):
            next_arrival([connection], time.monotonic() + SECONDS)
