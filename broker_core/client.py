"""A connected client as topics, producers, and consumers see it. They know nothing of sockets or commands."""

from __future__ import annotations

from typing import Protocol


class Outbound(Protocol):
    """The way back to the client."""

    def send(self, data: bytes) -> None:
        """Queues complete frames; never blocks."""

    @property
    def writable(self) -> bool:
        """False while the socket's buffer is over its limit; `Consumer.on_writable` follows when it is not."""

    def publish_started(self, messages: int) -> None:
        """That many messages wait for the disk; over the limit the socket is not read."""

    def publish_finished(self, messages: int) -> None:
        """They were answered."""

    def hold_reading(self) -> None:
        """The socket is not read until each call has been matched by one of `release_reading`."""

    def release_reading(self) -> None:
        """Ends one `hold_reading`."""

    async def is_alive(self) -> bool:
        """Asks the peer (PING) within the liveness timeout; a silent peer's connection is closed."""


class Client(Protocol):
    """One connection. The same object stands for all its producers and consumers."""

    outbound: Outbound
    address: str
    client_version: str
    protocol_version: int
    non_persistent_messages: int  # of non-persistent topics, published and not yet dispatched
    max_non_persistent: int  # of those; what exceeds it is dropped

    @property
    def host(self) -> str:
        """The address without its port."""

    def hint(self, served_at: str) -> str:
        """The address of the next broker of a topic, if this client understands it (PIP-307)."""

    def forget_producer(self, producer_id: int) -> None:
        """The broker closed it: SENDs already on their way are dropped."""

    def forget_consumer(self, consumer_id: int) -> None:
        """The broker closed it."""
