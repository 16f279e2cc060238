"""Clients of a crowd: each is one connection to a broker, through a proxy or without, and sends or receives messages.

They share one event loop, because 2,000 official clients would need most of the machine for their threads.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import pong
from broker_core.wire.frame import FrameDecoder, Item, MessageFrame
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandSubscribe

FRAME_MAX = 6 * 1024 * 1024
ANSWER_SECONDS = 60.0
PERMITS = 100
OPENING = 50  # connections at a time


class CrowdFailed(Exception):
    """A client lost its connection, or messages are missing."""


@dataclass
class Way:
    """How clients get to a broker: the address that they connect to, and the broker's own behind a proxy."""

    url: str
    broker_url: str = ""


class Client(asyncio.Protocol):
    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.received = 0
        self._decoder = FrameDecoder(FRAME_MAX)
        self._answers: asyncio.Queue[int] = asyncio.Queue()
        self._closing = False

    async def open(self, way: Way) -> None:
        place = urlsplit(way.url)
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: self, str(place.hostname), int(place.port or 6650))
        target = way.broker_url.partition("://")[2] or None
        self.transport.write(client_commands.connect("crowd", proxy_to_broker_url=target))
        await self._answer(BaseCommand.CONNECTED)
        await self._begin()

    async def _begin(self) -> None:
        raise NotImplementedError

    async def _answer(self, wanted: int) -> None:
        async with asyncio.timeout(ANSWER_SECONDS):
            found = await self._answers.get()
        if found != wanted:
            raise CrowdFailed(f"{self.topic}: the answer to a client was a command of type {found}")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]  # that of a TCP connection

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._closing:
            self._answers.put_nowait(BaseCommand.ERROR)

    def data_received(self, data: bytes) -> None:
        for item in self._decoder.feed(data):
            self._take(item)

    def _take(self, item: Item) -> None:
        if getattr(item, "type", None) == BaseCommand.PING:
            self.transport.write(pong())
        else:
            self._answers.put_nowait(item.type)  # type: ignore[union-attr]  # no client here gets a SEND

    def close(self) -> None:
        self._closing = True
        if hasattr(self, "transport"):
            self.transport.close()


class Sender(Client):
    """Sends without waiting. `waits` are the seconds from each SEND to its receipt."""

    def __init__(self, topic: str) -> None:
        super().__init__(topic)
        self.sent = 0
        self.waits: list[float] = []
        self.waiting: deque[float] = deque()  # when each message without a receipt was sent

    async def _begin(self) -> None:
        self.transport.write(client_commands.producer(1, self.topic, 1, "crowd"))
        await self._answer(BaseCommand.PRODUCER_SUCCESS)

    def send(self, payload: bytes) -> None:
        described = pb.MessageMetadata(
            producer_name="crowd", sequence_id=self.sent, publish_time=int(time.time() * 1000)
        )
        self.waiting.append(time.perf_counter())
        self.transport.write(client_commands.send(1, self.sent, build_entry(described, payload)))
        self.sent += 1

    def _take(self, item: Item) -> None:
        if getattr(item, "type", None) == BaseCommand.SEND_RECEIPT:
            self.waits.append(time.perf_counter() - self.waiting.popleft())
        else:
            super()._take(item)


class Receiver(Client):
    """Acknowledges what it receives. `broken`: the order of its messages was not that of their entries."""

    def __init__(self, topic: str) -> None:
        super().__init__(topic)
        self._last = (-1, -1)
        self.broken = 0

    async def _begin(self) -> None:
        start = CommandSubscribe.Earliest
        self.transport.write(client_commands.subscribe(1, self.topic, "crowd", 1, initial_position=start))
        await self._answer(BaseCommand.SUCCESS)
        self.transport.write(client_commands.flow(1, PERMITS))

    def _take(self, item: Item) -> None:
        if not isinstance(item, MessageFrame):
            super()._take(item)
            return
        found = item.message.message_id
        self.broken += (found.ledgerId, found.entryId) <= self._last
        self._last = found.ledgerId, found.entryId
        self.received += 1
        self.transport.write(client_commands.acknowledge(1, [found]))
        if self.received % (PERMITS // 2) == 0:
            self.transport.write(client_commands.flow(1, PERMITS // 2))


@dataclass
class Crowd:
    """Pairs of clients, one that sends and one that receives, each pair on its own topic."""

    senders: list[Sender] = field(default_factory=list)
    receivers: list[Receiver] = field(default_factory=list)

    async def open(self, way: Way, topics: str, pairs: int) -> None:
        names = [f"{topics}-{number}" for number in range(pairs)]
        receivers, senders = list(map(Receiver, names)), list(map(Sender, names))
        self.receivers += receivers  # first: `close` ends those that were opened before one failed
        self.senders += senders
        await _open(receivers, way)
        await _open(senders, way)

    async def send(self, payload: bytes, messages_per_second: float, seconds: float) -> float:
        """Spreads the messages evenly over the time and over the pairs. Returns how long it took."""
        loop = asyncio.get_running_loop()
        began, count = loop.time(), round(messages_per_second * seconds)
        for number in range(count):
            early = began + number / messages_per_second - loop.time()
            if early > 0:
                await asyncio.sleep(early)
            self.senders[number % len(self.senders)].send(payload)
        return loop.time() - began

    async def settle(self) -> None:
        """Returns when all messages have receipts and have arrived. Raises CrowdFailed."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                while self.missing:  # noqa: ASYNC110  # setting an event for each message would add to the load
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise CrowdFailed(f"{self.missing} receipts and messages are missing") from None
        if broken := sum(one.broken for one in self.receivers):
            raise CrowdFailed(f"{broken} messages were out of order")

    @property
    def missing(self) -> int:
        """Receipts, and messages that have not arrived."""
        return sum(len(one.waiting) + one.sent for one in self.senders) - self.received

    @property
    def received(self) -> int:
        return sum(one.received for one in self.receivers)

    def take_waits(self) -> list[float]:
        """For receipts since the last call, in seconds, the shortest first."""
        found = sorted(wait for one in self.senders for wait in one.waits)
        for one in self.senders:
            one.waits.clear()
        return found

    def close(self) -> None:
        for one in (*self.senders, *self.receivers):
            one.close()


async def _open(clients: Sequence[Client], way: Way) -> None:
    places = asyncio.Semaphore(OPENING)

    async def open_one(client: Client) -> None:
        async with places:
            await client.open(way)

    opening = [asyncio.create_task(open_one(one)) for one in clients]
    try:
        await asyncio.gather(*opening)
    finally:
        for task in opening:
            task.cancel()
        await asyncio.gather(*opening, return_exceptions=True)
