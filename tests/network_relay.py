"""A TCP relay that stands for the network between two processes: it can be cut, slow, and whole again."""

import contextlib
import socket
import threading
from typing import Self

CHUNK = 16 * 1024


class NetworkRelay:
    """A context. `url` is where the service at `target` (a pulsar:// URL) is reached."""

    def __init__(self, target: str) -> None:
        host, _, port = target.removeprefix("pulsar://").rpartition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._is_cut = False
        self._ended = threading.Event()
        self._bytes_per_second = 0  # 0 is no limit
        self._threads: list[threading.Thread] = []
        self.url = f"pulsar://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(10)

    def cut(self) -> None:
        """Ends all connections, and each new one at once."""
        with self._lock:
            self._is_cut = True
            for each in self._open:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def slow(self, bytes_per_second: int) -> None:
        """For each direction of each connection."""
        self._bytes_per_second = bytes_per_second

    def heal(self) -> None:
        with self._lock:
            self._is_cut = False
        self._bytes_per_second = 0

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
            try:
                far = socket.create_connection(self._target, 10)
            except OSError:  # nothing is there now
                client.close()
                continue
            with self._lock:
                self._open |= {client, far}
                is_cut = self._is_cut
            for source, target in ((client, far), (far, client)):
                self._start(self._pass_on, source, target)
            if is_cut:
                self.cut()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        """Ends both sockets when one of them ends."""
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                target.sendall(data)
                if self._bytes_per_second:
                    self._ended.wait(len(data) / self._bytes_per_second)
        with self._lock:
            self._open -= {source, target}
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
