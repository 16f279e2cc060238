"""The parts that every client of a broker has in common: the handshake, PING, AUTH_CHALLENGE, and refused connections.

It has no socket: its owner passes in the commands that arrive, and `send` writes. docs/reference/protocol.md
"Connections" states the rules.
"""

from abc import ABC, abstractmethod
from typing import Protocol

from broker_core.wire import client_commands, commands
from broker_core.wire.frame import Command, FrameDecoder
from broker_core.wire.pulsar_api_pb2 import (
    BaseCommand,
    CommandAuthChallenge,
    CommandConnected,
    CommandError,
    ServerError,
)

CHUNK_BYTES = 256 * 1024
FRAME_PADDING_BYTES = 10 * 1024  # bytes of a frame beyond the largest message, as brokers allow
MAX_MESSAGE_BYTES = 5 * 1024 * 1024  # used until CONNECTED sets another limit

_ERROR_NAMES: dict[int, str] = {number: name for name, number in ServerError.items()}


class Credentials(Protocol):
    @property
    def method(self) -> str:
        """The name on the wire; empty for none."""

    def data(self) -> bytes:
        """The secret of this moment: one in a file may have been renewed."""


class ClientProtocol(ABC):
    """`credentials` answer AUTH_CHALLENGE. `connected` is the broker's CONNECTED, once it has arrived."""

    def __init__(self, client_version: str, credentials: Credentials | None) -> None:
        self.connected: CommandConnected | None = None
        self.decoder = FrameDecoder(MAX_MESSAGE_BYTES + FRAME_PADDING_BYTES)
        self._client_version = client_version
        self._credentials = credentials

    @abstractmethod
    def send(self, frames: bytes) -> None:
        """Writes complete frames."""

    @abstractmethod
    def refusal(self, error: CommandError) -> Exception:
        """The exception for a broker that refuses the connection, at its start or when credentials have expired."""

    def answers(self, command: Command) -> bool:
        """Whether the command concerns the connection itself, and is handled. Raises `refusal`."""
        kind, message = command.type, command.message
        if kind == BaseCommand.PING:
            self.send(commands.pong())
        elif kind == BaseCommand.CONNECTED:
            self.greeted(message)
        elif kind == BaseCommand.AUTH_CHALLENGE:
            self.prove(message)
        elif kind == BaseCommand.ERROR and (self.connected is None or message.request_id == commands.BROKER_REQUEST_ID):
            raise self.refusal(message)
        else:
            return False
        return True

    def greeted(self, connected: CommandConnected) -> None:
        """Called when the handshake is complete."""
        self.connected = connected
        self.decoder.frame_size_max = max(MAX_MESSAGE_BYTES, connected.max_message_size) + FRAME_PADDING_BYTES

    def prove(self, challenge: CommandAuthChallenge) -> None:
        """The credentials have expired, or the broker asks again: sends those of this moment."""
        own = self._credentials
        method, data = (own.method or "none", own.data()) if own is not None else ("none", b"")
        self.send(client_commands.auth_response(self._client_version, method, data))


def reason_of(code: int, message: str) -> str:
    """The reason that a broker gives with an error: its message and the name of the ServerError."""
    name = _ERROR_NAMES.get(code, f"error {code}")
    return name if message in ("", name) else f"{message} ({name})"
