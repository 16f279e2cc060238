"""The identity of a client: its CONNECT, what the proxy finds out about it, and when that expires.

As at the broker, a client that fails gets ERROR and is disconnected, except for clients that ignore an ERROR before
CONNECTED: they get CONNECTED, and the error as the answer to their first request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from broker_core import __version__
from broker_core.client_log import ClientLog
from broker_core.errors import AuthenticationFailed, NotAllowed, ProtocolViolation
from broker_core.proxy.introduction import Introduction
from broker_core.security.provider import Credentials, Identity
from broker_core.security.refresh import Asked, Refresh
from broker_core.security.service import REFUSED
from broker_core.wire import commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.client_versions import ignores_error_before_connected

if TYPE_CHECKING:
    from broker_core.proxy.gateway import Gateway
    from broker_core.proxy.splice import Splice

log = ClientLog(__name__)

OLDEST_PROTOCOL_VERSION = 11  # before it, clients misread the checksum of a message
PROTOCOL_VERSION = 21
CHALLENGE = b"PulsarAuthRefresh"


class Client(Asked, Protocol):
    host: str
    address: str

    @property
    def certificate(self) -> bytes:
        """The client's certificate in DER form, verified by TLS; empty without one."""


class Handshake:
    """`refusal`: why the client is refused; it may still have to learn that."""

    def __init__(self, gateway: Gateway, client: Client, command: pb.CommandConnect) -> None:
        self._gateway = gateway
        self._client = client
        self._command = command
        self._identity: Identity | None = None
        self._refresh: Refresh | None = None
        self.refusal: AuthenticationFailed | None = None
        self.introduction = self._introduce("")

    def _introduce(self, role: str) -> Introduction:
        gateway = self._gateway
        return Introduction(self._command, role, gateway.own, gateway.config.brokers.forward_credentials)

    async def authenticate(self) -> None:
        """Raises `AuthenticationFailed`, `NotAllowed`, or `ProtocolViolation`."""
        command = self._command
        if command.protocol_version < OLDEST_PROTOCOL_VERSION:
            raise ProtocolViolation(f"protocol version {command.protocol_version} is too old")
        if command.proxy_version:
            raise NotAllowed("Must not provide proxyVersion")
        if self._gateway.security.authentication is None:
            return
        try:
            self._identity = await self._judge(command.auth_method_name or "none", command.auth_data)
        except AuthenticationFailed:
            if not ignores_error_before_connected(command.client_version):
                raise AuthenticationFailed(REFUSED) from None
            self.refusal = AuthenticationFailed(REFUSED)
        else:
            self.introduction = self._introduce(self._identity.role)

    async def _judge(self, method: str, data: bytes) -> Identity:
        credentials, client = Credentials(data, self._client.certificate), self._client
        try:
            return await self._gateway.security.authenticate(client.host, method, credentials)
        except AuthenticationFailed as error:
            log.info(client.host, "", "cannot authenticate %s by %s: %s", client.address, method, error)
            raise

    def connected(self, broker: pb.FeatureFlags) -> bytes:
        """CONNECTED of the proxy itself, which offers what a lookup connection can do.

        `broker`: the features of the broker, because a client may ask here whether it serves scalable topics.
        """
        return commands.connected(
            server_version=f"pulsarctl-{__version__}",
            protocol_version=min(self._command.protocol_version, PROTOCOL_VERSION),
            max_message_size=self._gateway.config.limits.max_message_size,
            feature_flags={
                "supports_get_partitioned_metadata_without_auto_creation": True,
                "supports_scalable_topics": broker.supports_scalable_topics,
            },
        )

    def watch_expiry(self) -> None:
        """Asks the client for new credentials when they expire, and disconnects one that has none."""
        challenge = None
        if self._command.feature_flags.supports_auth_refresh:
            version = min(self._command.protocol_version, PROTOCOL_VERSION)
            challenge = commands.auth_challenge(version, self._command.auth_method_name, CHALLENGE)
        self._watch(self._client, challenge)

    def watch_splice(self, splice: Splice) -> None:
        """Ends a splice when the credentials expire, unless the broker has them and asks for new ones itself."""
        if not self._gateway.config.brokers.forward_credentials:
            self._watch(_Spliced(self._client, splice), None)

    def _watch(self, asked: Asked, challenge: bytes | None) -> None:
        if self._identity is not None and self._identity.expires_ms is not None:
            seconds = self._gateway.config.security.refresh_seconds
            self._refresh = Refresh(asked, self._gateway.clock, self._identity, challenge, seconds=seconds)

    async def renew(self, command: pb.CommandAuthResponse) -> None:
        """New credentials of the same role. Raises `AuthenticationFailed` or `ProtocolViolation`."""
        method, data = command.response.auth_method_name, command.response.auth_data
        if self._gateway.security.authentication is not None:
            try:
                identity = await self._judge(method, data)
            except AuthenticationFailed:
                raise AuthenticationFailed(REFUSED) from None
            if self._identity is None or identity.role != self._identity.role:
                raise ProtocolViolation("the client sent the credentials of another role")
            if self._refresh is not None:
                self._refresh.renewed(identity)
        self._command.auth_method_name, self._command.auth_data = method, data

    def end(self) -> None:
        if self._refresh is not None:
            self._refresh.cancel()


@dataclass(frozen=True, slots=True)
class _Spliced:
    """A client that the proxy can no longer send commands to."""

    client: Client
    splice: Splice

    def send(self, data: bytes) -> None:
        """There is nothing to send: a spliced client gets no challenge."""

    def give_up(self, reason: str) -> None:
        log.info(self.client.host, "", "closing the connection of %s: %s", self.client.address, reason)
        self.splice.abort()
