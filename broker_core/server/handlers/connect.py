"""CONNECT, PING, PONG.

The protocol version that is announced is the newest that this release knows, 21. Of what the versions up to it
promise, transactions (19) and authentication (14) are missing: their commands are refused by name, as by a broker whose
coordinator or authentication is switched off.
"""

from __future__ import annotations

from broker_core import __version__
from broker_core.errors import ProtocolViolation
from broker_core.server.session import Session, SessionState
from broker_core.wire import commands
from broker_core.wire import pulsar_api_pb2 as pb

PROTOCOL_VERSION = 21
OLDEST_PROTOCOL_VERSION = 11  # before it, clients misread the checksum of a message
SERVER_VERSION = f"pulsarctl-{__version__}"


def on_connect(session: Session, command: pb.CommandConnect) -> bytes:
    if command.protocol_version < OLDEST_PROTOCOL_VERSION:
        raise ProtocolViolation(
            f"{session.address} speaks protocol version {command.protocol_version},"
            f" older than {OLDEST_PROTOCOL_VERSION}"
        )
    session.become(SessionState.READY)
    session.client_version = command.client_version
    session.protocol_version = min(command.protocol_version, PROTOCOL_VERSION)
    return commands.connected(
        server_version=SERVER_VERSION,
        protocol_version=session.protocol_version,
        max_message_size=session.broker.config.connection.max_message_size,
        feature_flags={
            "supports_topic_watchers": session.broker.config.topic_lists.watchers,
            "supports_get_partitioned_metadata_without_auto_creation": True,
        },
    )


def on_ping(session: Session, command: pb.CommandPing) -> bytes:
    return commands.pong()


def on_pong(session: Session, command: pb.CommandPong) -> None:
    """Nothing to do: any command shows that the peer is alive."""
