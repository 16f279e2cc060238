"""A TCP relay that stands for the network between two processes: it can be cut, slow, and whole again."""

import contextlib
import socket

from tests.support.threaded_listener import ThreadedListener, address_of

CHUNK = 16 * 1024


class NetworkRelay(ThreadedListener):
    """`url` is where the service at `target` (a pulsar:// URL) is reached."""

    def __init__(self, target: str) -> None:
        super().__init__()
        self._target = address_of(target)
        self._bytes_per_second = 0  # 0 means no limit

    def slow(self, bytes_per_second: int) -> None:
        """For each direction of each connection."""
        self._bytes_per_second = bytes_per_second

    def heal(self) -> None:
        super().heal()
        self._bytes_per_second = 0

    def accepted(self, connection: socket.socket) -> None:
        try:
            far = socket.create_connection(self._target, 10)
        except OSError:  # nothing is there now
            self.drop(connection)
            return
        self.keep(far)
        self.start(self._pass_on, connection, far)
        self.start(self._pass_on, far, connection)

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        """Ends both sockets when one of them ends."""
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                target.sendall(data)
                if self._bytes_per_second:
                    self.ended.wait(len(data) / self._bytes_per_second)
        self.drop(source, target)
