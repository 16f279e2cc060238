"""CONNECT, PING, PONG.

The protocol version that is announced is the newest one, 21, also that of Pulsar 5.0.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from broker_core import __version__
from broker_core.config.broker import BrokerConfig
from broker_core.errors import AuthenticationFailed, ProtocolViolation, Unauthorized
from broker_core.security.service import REFUSED
from broker_core.server.handlers.authenticate import authenticate, refuse
from broker_core.server.session import Session, SessionState
from broker_core.wire import commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.client_versions import ignores_error_before_connected

PROTOCOL_VERSION = 21
OLDEST_PROTOCOL_VERSION = 11  # before it, clients misread the checksum of a message
SERVER_VERSION = f"pulsarctl-{__version__}"


def on_connect(session: Session, command: pb.CommandConnect) -> bytes | Coroutine[Any, Any, bytes | None]:
    if command.protocol_version < OLDEST_PROTOCOL_VERSION:
        raise ProtocolViolation(
            f"{session.address} speaks protocol version {command.protocol_version},"
            f" older than {OLDEST_PROTOCOL_VERSION}"
        )
    session.client_version = command.client_version
    session.protocol_version = min(command.protocol_version, PROTOCOL_VERSION)
    session.names_source_positions = command.feature_flags.supports_repl_dedup_by_lid_and_eid
    session.takes_broker_metadata = command.feature_flags.supports_broker_entry_metadata
    if session.broker.security.authentication is None:
        session.become(SessionState.READY)
        return _connected(session)
    session.become(SessionState.AUTHENTICATING)
    return _authenticated(session, command)


async def _authenticated(session: Session, command: pb.CommandConnect) -> bytes | None:
    """CONNECTED, also for a refused client that only reports the error of a request."""
    try:
        await authenticate(session, command)
    except AuthenticationFailed:
        session.refusal = AuthenticationFailed(REFUSED)
    except Unauthorized as error:
        session.refusal = error
    if session.refusal is not None and not ignores_error_before_connected(session.client_version):
        refuse(session, session.refusal)
        return None
    return _connected(session)


def _connected(session: Session) -> bytes:
    return commands.connected(
        server_version=SERVER_VERSION,
        protocol_version=session.protocol_version,
        max_message_size=session.broker.config.connection.max_message_size,
        feature_flags={
            "supports_topic_watchers": session.broker.config.topic_lists.watchers,
            "supports_get_partitioned_metadata_without_auto_creation": True,
            "supports_repl_dedup_by_lid_and_eid": True,
            "supports_scalable_topics": session.broker.config.scalable.enabled,
            "supports_tc_metadata_discovery": _finds_coordinators(session.broker.config),
        },
    )


def _finds_coordinators(config: BrokerConfig) -> bool:
    return config.scalable.enabled and config.transactions.enabled


def on_ping(session: Session, command: pb.CommandPing) -> bytes:
    return commands.pong()


def on_pong(session: Session, command: pb.CommandPong) -> None:
    """Nothing to do: any command shows that the peer is alive."""
