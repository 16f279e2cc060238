"""A connected client as topics, producers, and consumers see it. They know nothing about sockets or commands."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from broker_core.names import TopicName

log = logging.getLogger(__name__)


class Outbound(Protocol):
    """The connection to the client."""

    def send(self, data: bytes) -> None:
        """Queues complete frames; never blocks."""

    @property
    def writable(self) -> bool:
        """False while the socket's buffer is over its limit; `Consumer.on_writable` is called when it no longer is."""

    def publish_started(self, messages: int) -> None:
        """Counts messages that wait for the disk; above the limit, the socket is not read."""

    def publish_finished(self, messages: int) -> None:
        """Counts messages that have been answered."""

    def hold_reading(self) -> None:
        """Stops reading the socket until each call has been matched by `release_reading`."""

    def release_reading(self) -> None:
        """Ends one `hold_reading`."""

    @property
    def is_tls(self) -> bool:
        """Whether the client came by TLS."""

    @property
    def certificate(self) -> bytes:
        """The client's certificate in DER form, verified by TLS; empty without one."""

    def authenticated(self) -> None:
        """Ends the limits for unauthenticated connections: the client has proved who it is."""

    def close(self) -> None:
        """Sends what is queued, then closes the connection."""

    def give_up(self, reason: str) -> None:
        """Closes the connection at once; the reason goes to the log."""

    async def is_alive(self) -> bool:
        """Sends PING and waits for the liveness timeout; closes the connection of a silent peer."""


class Client(Protocol):
    """One connection. All its producers and consumers share this object."""

    outbound: Outbound
    address: str
    client_version: str
    protocol_version: int
    takes_broker_metadata: bool  # with each message, if the source has it
    non_persistent_messages: int  # of non-persistent topics, published and not yet dispatched
    max_non_persistent: int  # their limit; messages above it are dropped

    @property
    def host(self) -> str:
        """The address without its port."""

    def hint(self, served_at: str) -> str:
        """The address of the next broker of a topic, if this client understands it (PIP-307)."""

    def follows_to(self, service_url: str, service_url_tls: str) -> bool:
        """Whether it understands TOPIC_MIGRATED (PIP-188), and can use one of the addresses."""

    def may_move(self, topic: TopicName, subscription: str) -> bool:
        """Whether its role may acknowledge messages of the subscription now, and create it."""

    def forget_producer(self, producer_id: int) -> None:
        """Forgets a producer that the broker closed: SENDs that are still arriving are dropped."""

    def forget_consumer(self, consumer_id: int) -> None:
        """Forgets a consumer that the broker closed."""


class Unsent:
    """Everything that connections have queued and not sent yet. It leaves with one call per iteration of the loop.

    A synced group of the journal answers many clients at once, so what is queued inside a block of this context manager
    leaves at its end: another iteration costs more than the answer to a single message. Blocks do not nest.
    """

    __slots__ = ("_due", "_loop", "_was_due", "_writes")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._writes: list[Callable[[], None]] = []
        self._due = self._was_due = False  # whether the end of an iteration, or of a block, will write

    def add(self, write: Callable[[], None]) -> None:
        """`write` is called soon, once for each call of this."""
        self._writes.append(write)
        if not self._due:
            self._due = True
            self._loop.call_soon(self._end_turn)

    def __enter__(self) -> None:
        self._due, self._was_due = True, self._due

    def __exit__(self, *_: object) -> None:
        self._due = self._was_due
        writes, self._writes = self._writes, []
        for write in writes:
            try:
                write()
            except Exception:
                log.exception("cannot send the queued answers of a connection")

    def _end_turn(self) -> None:
        self._was_due = False
        self.__exit__()
