"""The `Outbound` of a client that has left.

A session and what its producers and consumers leave behind name it instead of the connection, which they would keep in
memory in a cycle, together with its transport and its buffers, until the garbage collector finds it.
"""

from __future__ import annotations


class Disconnected:
    """Sends nothing: the client is not there."""

    writable = False
    is_tls = False
    certificate = b""

    def send(self, data: bytes) -> None:
        pass

    def publish_started(self, messages: int) -> None:
        pass

    def publish_finished(self, messages: int) -> None:
        pass

    def hold_reading(self) -> None:
        pass

    def release_reading(self) -> None:
        pass

    def authenticated(self) -> None:
        pass

    def close(self) -> None:
        pass

    def give_up(self, reason: str) -> None:
        pass

    async def is_alive(self) -> bool:
        return False
