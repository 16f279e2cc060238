"""A TCP listener on a free port, with a thread that accepts connections and one or more for each connection."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterable
from typing import Self

JOIN_SECONDS = 10


class ThreadedListener:
    """A context that ends its connections and threads. `url` is where it listens."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._is_cut = False
        self.ended = threading.Event()
        self.url = f"pulsar://127.0.0.1:{self._listener.getsockname()[1]}"

    def accepted(self, connection: socket.socket) -> None:
        """Starts what serves the connection. Called for one connection after another, in the order of arrival."""
        raise NotImplementedError

    def start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def keep(self, *sockets: socket.socket) -> None:
        """Ends them with the context, or now after `cut`."""
        with self._lock:
            self._open.update(sockets)
            if self._is_cut:
                _end(sockets)

    def drop(self, *sockets: socket.socket) -> None:
        """Closes them."""
        with self._lock:
            self._open.difference_update(sockets)
        _end(sockets)
        for one in sockets:
            one.close()

    def cut(self) -> None:
        """Ends all connections, and each new one at once."""
        with self._lock:
            self._is_cut = True
            _end(self._open)

    def heal(self) -> None:
        """Serves new connections again."""
        with self._lock:
            self._is_cut = False

    def stop(self) -> None:
        """Like a server that dies: no connection is left, and none is taken."""
        self.ended.set()
        _end([self._listener])  # wakes the thread that accepts
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(JOIN_SECONDS)
        self.drop(*list(self._open))

    def __enter__(self) -> Self:
        self.start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.keep(connection)
            self.accepted(connection)


def _end(sockets: Iterable[socket.socket]) -> None:
    """Wakes the threads that use them, which `close` would not."""
    for one in sockets:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


def address_of(url: str) -> tuple[str, int]:
    """The host and the port of a pulsar:// URL."""
    host, _, port = url.removeprefix("pulsar://").rpartition(":")
    return host, int(port)
