"""A TCP relay in front of a broker that cuts each connection after a number of bytes."""

import contextlib
import selectors
import socket
from collections.abc import Iterator
from typing import Self

from broker_core.testing import EmbeddedBroker
from tests.support.threaded_listener import ThreadedListener, address_of


class CuttingRelay(ThreadedListener):
    """`cut_after` yields how many bytes from the broker each new connection passes on; without a next one, all.

    While it runs, lookups return its address.
    """

    def __init__(self, broker: EmbeddedBroker, cut_after: Iterator[int]) -> None:
        super().__init__()
        self._broker = broker.broker
        self._target = address_of(broker.service_url)
        self._cut_after = cut_after
        self.cuts = 0

    def __enter__(self) -> Self:
        self._original, self._broker.service_url = self._broker.service_url, self.url
        return super().__enter__()

    def __exit__(self, *_: object) -> None:
        self._broker.service_url = self._original
        self.stop()

    def accepted(self, connection: socket.socket) -> None:
        self.start(self._relay, connection, next(self._cut_after, None))

    def _relay(self, client: socket.socket, allowed: int | None) -> None:
        broker = socket.create_connection(self._target)
        self.keep(broker)
        with contextlib.suppress(OSError), selectors.DefaultSelector() as ready:
            ready.register(client, selectors.EVENT_READ, broker)
            ready.register(broker, selectors.EVENT_READ, client)
            self._pass_on(ready, broker, allowed)
        self.drop(client, broker)

    def _pass_on(self, ready: selectors.DefaultSelector, broker: socket.socket, allowed: int | None) -> None:
        while allowed is None or allowed > 0:
            for key, _ in ready.select():
                source, target = key.fileobj, key.data
                data = source.recv(65536)  # type: ignore[union-attr]  # a socket, registered above
                if not data:
                    return
                if source is broker and allowed is not None:
                    data, allowed = data[:allowed], allowed - len(data)
                target.sendall(data)
        self.cuts += 1
