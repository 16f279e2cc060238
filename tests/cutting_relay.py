"""A TCP relay in front of a broker that cuts each connection after a number of bytes."""

import contextlib
import selectors
import socket
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from broker_core.testing import EmbeddedBroker


class CuttingRelay:
    """`cut_after` yields how many bytes from the broker each new connection passes on; without a next one, all.

    While it runs, lookups return its address.
    """

    def __init__(self, broker: EmbeddedBroker, cut_after: Iterator[int]) -> None:
        self._broker = broker.broker
        host, _, port = broker.service_url.removeprefix("pulsar://").rpartition(":")
        self._target = (host, int(port))
        self._cut_after = cut_after
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self.cuts = 0
        self.url = f"pulsar://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._original, self._broker.service_url = self._broker.service_url, self.url
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._broker.service_url = self._original
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in list(self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)

    def _start(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]  # methods below
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._start(self._relay, client, next(self._cut_after, None))

    def _relay(self, client: socket.socket, allowed: int | None) -> None:
        with client, socket.create_connection(self._target) as broker, selectors.DefaultSelector() as ready:
            self._open |= {client, broker}
            ready.register(client, selectors.EVENT_READ, broker)
            ready.register(broker, selectors.EVENT_READ, client)
            with contextlib.suppress(OSError):
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
            self._open -= {client, broker}
