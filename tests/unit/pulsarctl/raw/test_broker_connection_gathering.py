"""A connection that gathers messages takes those apart together that arrive soon after one another."""

import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import pytest

from broker_core.wire import commands
from broker_core.wire.frame import MessageFrame
from broker_core.wire.message_run import MessageRun
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandMessage, CommandSuccess, MessageIdData
from pulsarctl.auth.channel import Channel
from pulsarctl.raw.broker_connection import GATHERED_BYTES, Arrived, BrokerConnection
from pulsarctl.settings.addresses import Address
from pulsarctl.settings.client_security import OPEN
from pulsarctl.tables.foreseen_messages import ForeseenMessages
from tests.support.threaded_listener import ThreadedListener

SECONDS = 20.0
ENTRY = bytes(1000)
Serve = Callable[[socket.socket], None]


class Sender(ThreadedListener):
    """Answers CONNECT, and then sends what `serve` sends."""

    def __init__(self, serve: Serve) -> None:
        super().__init__()
        self._serve = serve

    def accepted(self, connection: socket.socket) -> None:
        self.keep(connection)
        self.start(self._answer, connection)

    def _answer(self, connection: socket.socket) -> None:
        with suppress(OSError):  # the test is over
            connection.recv(4096)
            connection.sendall(commands.connected("any", 19, 5 << 20, {}))
            self._serve(connection)


def message(entry_id: int, entry: bytes = ENTRY) -> bytes:
    delivered = CommandMessage(consumer_id=1, message_id=MessageIdData(ledgerId=7, entryId=entry_id))
    return commands.frame(BaseCommand(type=BaseCommand.MESSAGE, message=delivered), entry)


@contextmanager
def gathering(serve: Serve) -> Iterator[BrokerConnection]:
    with Sender(serve) as sender:
        at = urlsplit(sender.url)
        assert at.hostname
        assert at.port
        connection = BrokerConnection(Address(at.hostname, at.port), Channel(OPEN), timeout_seconds=SECONDS)
        connection.gather_messages(ForeseenMessages())
        yield connection
        connection.close()


def test_what_arrives_in_pieces_is_complete_and_in_order() -> None:
    def in_pieces(connection: socket.socket) -> None:
        for entry_id in range(1000, 1500):
            connection.sendall(message(entry_id))

    found: list[int] = []
    with gathering(in_pieces) as connection:
        while len(found) < 500:
            assert connection.receive(time.monotonic() + SECONDS, gather=GATHERED_BYTES)
            while connection.arrived:
                found += entry_ids(connection.arrived.popleft())
    assert found == list(range(1000, 1500))


def test_a_broker_that_trickles_does_not_hold_up_what_has_arrived() -> None:
    def trickle(connection: socket.socket) -> None:
        connection.sendall(message(1))
        for byte in message(2, bytes(1 << 20)):
            connection.sendall(bytes((byte,)))

    with gathering(trickle) as connection:
        started = time.monotonic()
        assert connection.receive(started + SECONDS, gather=GATHERED_BYTES)
        assert time.monotonic() - started < SECONDS / 4
        assert list(map(entry_ids, connection.arrived)) == [[1]]


@pytest.fixture
def endless_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits for more until the test fails."""
    for name in ("SILENCE_SECONDS", "GATHER_SECONDS"):
        monkeypatch.setattr(f"pulsarctl.raw.broker_connection.{name}", SECONDS)


@pytest.mark.usefixtures("endless_silence")
def test_nothing_is_waited_for_after_the_bytes_that_are_wanted() -> None:
    wanted = [message(entry_id) for entry_id in (1, 2)]

    def in_pieces(connection: socket.socket) -> None:
        connection.recv(4096)  # CONNECTED has been taken
        for piece in wanted:
            connection.sendall(piece)
        connection.recv(1)  # until the client closes it

    with gathering(in_pieces) as connection:
        connection.send(commands.pong())
        started = time.monotonic()
        assert connection.receive(started + SECONDS, gather=sum(map(len, wanted)))
        assert time.monotonic() - started < SECONDS / 4
        assert [entry_id for each in connection.arrived for entry_id in entry_ids(each)] == [1, 2]


def test_a_large_entry_in_pieces_is_not_copied_again_for_each_piece() -> None:
    large = bytes(5_000_000)
    wanted = threading.Semaphore(0)

    def in_pieces(connection: socket.socket) -> None:
        stream = message(1) + message(2, large) + message(3)
        for at in range(0, len(stream), 64 << 10):
            wanted.acquire(timeout=SECONDS)
            connection.sendall(stream[at : at + (64 << 10)])

    found: list[int] = []
    with gathering(in_pieces) as connection:
        tracemalloc.start()
        while len(found) < 3:
            wanted.release()
            assert connection.receive(time.monotonic() + SECONDS, gather=GATHERED_BYTES)
            while connection.arrived:
                found += entry_ids(connection.arrived.popleft())
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert found == [1, 2, 3]
    assert most < 3 * len(large)


@pytest.mark.usefixtures("endless_silence")
def test_a_reply_is_taken_at_once() -> None:
    def reply(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(commands.success(1))
        connection.recv(1)  # until the client closes it

    with gathering(reply) as connection:
        started = time.monotonic()
        connection.request(lambda number: commands.close_consumer(0, number), CommandSuccess, topic="t")
        assert time.monotonic() - started < SECONDS / 4


def entry_ids(arrived: Arrived) -> list[int]:
    if isinstance(arrived, MessageRun):
        return list(range(arrived.entry_id, arrived.entry_id + len(arrived.ends)))
    assert isinstance(arrived, MessageFrame)
    return [arrived.message.message_id.entryId]
