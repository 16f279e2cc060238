"""Another cluster whose broker answers as the test says, as old brokers do, or real ones only by accident."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from broker_core.wire import commands
from broker_core.wire.frame import Command, FrameDecoder
from broker_core.wire.message import parse_entry
from broker_core.wire.pulsar_api_pb2 import BaseCommand, MessageMetadata, ServerError
from broker_core.wire.schema_commands import get_schema_failed
from broker_core.wire.send import SendRun, SingleSend
from tests.support.threaded_listener import ThreadedListener

FRAME_SIZE_MAX = 6 * 1024 * 1024


class Sent(NamedTuple):
    """A SEND as it arrived."""

    producer_id: int
    sequence_id: int
    metadata: MessageMetadata
    payload: bytes


Answer = Callable[[Sent], bytes]


class ScriptedCluster(ThreadedListener):
    """`answer` makes the frames that answer a SEND. `arrived` has the payloads of all SENDs, in order."""

    def __init__(self, answer: Answer, flags: dict[str, bool] | None = None) -> None:
        super().__init__()
        self.arrived: list[bytes] = []
        self.metadata: list[MessageMetadata] = []
        self.producers: list[str] = []
        self.connections = 0
        self._answer = answer
        self._flags = flags or {}

    def accepted(self, connection: socket.socket) -> None:
        self.connections += 1
        self.start(self._serve, connection)

    def _serve(self, client: socket.socket) -> None:
        decoder = FrameDecoder(FRAME_SIZE_MAX)
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                for item in decoder.feed(data):
                    for frame in self._answers(item):
                        client.sendall(frame)

    def _answers(self, item: Any) -> Iterator[bytes]:
        if isinstance(item, Command):
            yield from self._reply(item)
            return
        for sent in _sends(item):
            self.arrived.append(sent.payload)
            self.metadata.append(sent.metadata)
            yield self._answer(sent)

    def _reply(self, command: Command) -> Iterator[bytes]:
        message = command.message
        if command.type == BaseCommand.CONNECT:
            yield commands.connected("old", 15, 5 * 1024 * 1024, self._flags)
        elif command.type == BaseCommand.LOOKUP:
            yield commands.lookup_connect(message.request_id, self.url)
        elif command.type == BaseCommand.GET_SCHEMA:
            yield get_schema_failed(message.request_id, ServerError.TopicNotFound, "no schema")
        elif command.type == BaseCommand.PRODUCER:
            self.producers.append(message.producer_name)
            yield commands.producer_success(message.request_id, message.producer_name)
        elif command.type == BaseCommand.PING:
            yield commands.pong()


def _sends(item: Any) -> Iterator[Sent]:
    if isinstance(item, SingleSend):
        entry = parse_entry(item.headers_and_payload)
        yield Sent(item.send.producer_id, item.send.sequence_id, entry.metadata, entry.payload)
    elif isinstance(item, SendRun):
        for index, sequence_id in enumerate(item.sequence_ids):
            entry = parse_entry(item.entry(index))
            yield Sent(item.producer_id, sequence_id, entry.metadata, entry.payload)


def stored(sent: Sent) -> bytes:
    """The receipt of a broker that names no source positions."""
    return commands.send_receipt(sent.producer_id, sent.sequence_id, 1, 1)
