"""Many topics, each with a producer and a consumer, on a few connections that stay alive."""

import selectors
import threading
from types import TracebackType
from typing import Self

from broker_core.wire import client_commands, commands
from broker_core.wire.commands import frame
from broker_core.wire.frame import Command
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandProducer, CommandSubscribe
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import send

TOPICS, CONNECTIONS = 10_000, 20
AT_ONCE = 50  # requests in flight on a connection
LOOK_SECONDS = 0.5


class Attached:
    """Opens a producer and a Shared consumer on each topic; the topic's number is their ID on the connection.

    A thread answers each PING, as every client does: the broker closes the connections of silent ones.
    """

    def __init__(self, url: str, *, permits: int = 0, messages: bool = False, name: str = "many") -> None:
        """`messages`: publish one to each topic."""
        self._url, self._permits, self._messages, self._name = url, permits, messages, name
        self._clients: list[RawClient] = []
        self._done = threading.Event()
        self._answering = threading.Thread(target=self._answer, daemon=True)

    def __enter__(self) -> Self:
        each = TOPICS // CONNECTIONS
        self._answering.start()  # the first connections wait for the last ones longer than the broker waits for a PONG
        for number in range(CONNECTIONS):
            client = RawClient(self._url)
            for first in range(number * each, (number + 1) * each, AT_ONCE):
                self._attach(client, range(first, min(first + AT_ONCE, (number + 1) * each)))
            self._clients.append(client)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._done.set()
        self._answering.join()
        for client in self._clients:
            client.close()

    def _attach(self, client: RawClient, some: range) -> None:
        for number in some:
            client.send(self._produce(number))
        answered(client, BaseCommand.PRODUCER_SUCCESS, len(some))
        for number in some:
            topic = self._topic(number)
            client.send(client_commands.subscribe(number, topic, "s", number, sub_type=CommandSubscribe.Shared))
        answered(client, BaseCommand.SUCCESS, len(some))
        if self._permits:
            client.send(b"".join(client_commands.flow(number, self._permits) for number in some))
        if self._messages:
            client.send(b"".join(send(0, producer_id=number) for number in some))
            answered(client, BaseCommand.SEND_RECEIPT, len(some))

    def _topic(self, number: int) -> str:
        return f"persistent://public/default/{self._name}-{number}"

    def _produce(self, number: int) -> bytes:
        command = CommandProducer(topic=self._topic(number), producer_id=number, request_id=number)
        return frame(BaseCommand(type=BaseCommand.PRODUCER, producer=command))

    def _answer(self) -> None:
        with selectors.DefaultSelector() as selector:
            while not self._done.is_set():
                for client in self._clients[len(selector.get_map()) :]:
                    selector.register(client.socket, selectors.EVENT_READ, client)
                for key, _ in selector.select(LOOK_SECONDS):
                    answer_pings(key.data)


def answer_pings(client: RawClient) -> None:
    """Takes all that has arrived."""
    while True:
        item = client.next()
        if isinstance(item, Command) and item.type == BaseCommand.PING:
            client.send(commands.pong())
        if not client.arrived:
            return


def answered(client: RawClient, kind: int, count: int) -> None:
    """Answers arrive in any order, with PINGs between them."""
    while count:
        item = client.next()
        if isinstance(item, Command) and item.type == BaseCommand.PING:
            client.send(commands.pong())
        elif isinstance(item, Command):
            assert item.type == kind, item.message
            count -= 1
