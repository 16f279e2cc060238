"""A peer that speaks as much of the binary protocol as a test says, on a thread for each connection."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from typing import Any

from broker_core.wire import client_commands, commands
from broker_core.wire.frame import Command, FrameDecoder
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandLookupTopicResponse
from tests.support.threaded_listener import ThreadedListener

CONNECTED = commands.connected("fake", 21, 1 << 20, {"supports_topic_watchers": True})
Answers = Callable[["FakeBroker", "Peer", Command], None]


class Peer:
    """One connection that the proxy has opened."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection

    def send(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self.socket.sendall(data)


class FakeBroker(ThreadedListener):
    """`answers` is called with each command; by default it answers CONNECT only. `seen` has all commands."""

    def __init__(self, answers: Answers | None = None) -> None:
        super().__init__()
        self.service_url = self.url
        self._answers = answers or greet
        self._peers: list[Peer] = []
        self.seen: list[Any] = []

    @property
    def connections(self) -> int:
        return len(self._peers)

    def accepted(self, connection: socket.socket) -> None:
        peer = Peer(connection)
        self._peers.append(peer)
        self.start(self._serve, peer)

    def _serve(self, peer: Peer) -> None:
        decoder = FrameDecoder(1 << 20)
        with contextlib.suppress(OSError):
            while not self.ended.is_set() and (chunk := peer.socket.recv(65536)):
                for item in decoder.feed(chunk):
                    if isinstance(item, Command):
                        self.seen.append(item)
                        self._answers(self, peer, item)

    def bodies(self, kind: int) -> list[Any]:
        """The commands of that type that have arrived."""
        return [item.message for item in self.seen if item.type == kind]


def greet(_broker: FakeBroker, peer: Peer, command: Command) -> None:
    if command.type == BaseCommand.CONNECT:
        peer.send(CONNECTED)


def silent(_broker: FakeBroker, _peer: Peer, _command: Command) -> None:
    """Answers nothing."""


def answers(kind: int, respond: Callable[[FakeBroker, Any], bytes]) -> Answers:
    """Answers CONNECT, and commands of that type with a frame."""

    def both(broker: FakeBroker, peer: Peer, command: Command) -> None:
        greet(broker, peer, command)
        if command.type == kind:
            peer.send(respond(broker, command.message))

    return both


def owns_every_topic(broker: FakeBroker, request: Any) -> bytes:
    return commands.lookup_connect(request.request_id, broker.service_url)


def redirects_to(url: str | None = None) -> Callable[[FakeBroker, Any], bytes]:
    """Without a URL, to itself."""

    def redirect(broker: FakeBroker, request: Any) -> bytes:
        command = BaseCommand(type=BaseCommand.LOOKUP_RESPONSE)
        body = command.lookupTopicResponse
        body.request_id, body.response = request.request_id, CommandLookupTopicResponse.Redirect
        body.brokerServiceUrl, body.authoritative = url or broker.service_url, True
        return commands.frame(command)

    return redirect


def connect_to(target: str) -> bytes:
    return client_commands.connect("raw", proxy_to_broker_url=target)
