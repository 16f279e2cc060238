"""A TCP relay in front of a broker that loses one command, and ends the connection that carried it."""

import contextlib
import selectors
import socket
from collections.abc import Callable
from typing import Self

from broker_core.testing import EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.threaded_listener import ThreadedListener, address_of

TYPE_AT = slice(8, 10)  # after two sizes


class LosingRelay(ThreadedListener):
    """Loses the first `command` that comes alone, as requests and answers do. Calls `meanwhile` before the cut.

    While it runs, lookups return its address.
    """

    def __init__(
        self, broker: EmbeddedBroker, command: BaseCommand.Type.ValueType, meanwhile: Callable[[], object] = int
    ) -> None:
        super().__init__()
        self._broker = broker.broker
        self._target = address_of(broker.service_url)
        self._lost = bytes((0x08, command))
        self._meanwhile = meanwhile
        self.losses = 0

    def __enter__(self) -> Self:
        self._original, self._broker.service_url = self._broker.service_url, self.url
        return super().__enter__()

    def __exit__(self, *_: object) -> None:
        self._broker.service_url = self._original
        self.stop()

    def accepted(self, connection: socket.socket) -> None:
        self.start(self._relay, connection)

    def _relay(self, client: socket.socket) -> None:
        broker = socket.create_connection(self._target)
        self.keep(broker)
        with contextlib.suppress(OSError), selectors.DefaultSelector() as ready:
            ready.register(client, selectors.EVENT_READ, broker)
            ready.register(broker, selectors.EVENT_READ, client)
            while self._passes_on(ready):
                pass
        self.drop(client, broker)

    def _passes_on(self, ready: selectors.DefaultSelector) -> bool:
        for key, _ in ready.select():
            data = key.fileobj.recv(65536)  # type: ignore[union-attr]  # a socket, registered above
            if not self.losses and data[TYPE_AT] == self._lost:
                self.losses += 1
                self._meanwhile()
                return False
            if not data:
                return False
            key.data.sendall(data)
        return True
