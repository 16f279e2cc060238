"""How the proxy introduces a client to a broker: the CONNECT that it sends for the client.

The broker sees the client's version and features unchanged, and the credentials of the proxy with the client's role, or
those of the client itself (docs/how-to/proxy.md "Authentication").
"""

from __future__ import annotations

from dataclasses import dataclass

from broker_core import __version__
from broker_core.security.own_credentials import OwnCredentials
from broker_core.wire.commands import frame_of
from broker_core.wire.frame import Command
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandConnect

PROXY_VERSION = f"pulsarctl-{__version__}"


@dataclass(frozen=True, slots=True)
class Introduction:
    """`role`: the client's, as the proxy has found; empty if it does not check. `own`: the proxy's credentials."""

    client: CommandConnect
    role: str
    own: OwnCredentials | None
    forward: bool

    @property
    def answers_for_client(self) -> bool:
        """Whether a broker's AUTH_CHALLENGE in the handshake is about the proxy's credentials."""
        return self.own is not None or not self.forward

    @property
    def client_can_renew(self) -> bool:
        """Whether a broker's AUTH_CHALLENGE after the handshake is for the client, whose credentials the broker has."""
        return self.forward

    def connect(self) -> bytes:
        """The frame of CONNECT. Raises `AuthenticationFailed` if the proxy's credentials cannot be read."""
        body = CommandConnect(client_version=self.client.client_version, protocol_version=self.client.protocol_version)
        if self.client.HasField("feature_flags"):
            body.feature_flags.CopyFrom(self.client.feature_flags)
        if self.own is not None:
            self._act_for(body, self.own)
        elif self.forward:
            self._pass_on(body)
        else:
            body.auth_method_name = "none"
        return frame_of(Command(BaseCommand.CONNECT, body))

    def _act_for(self, body: CommandConnect, own: OwnCredentials) -> None:
        body.auth_method_name, body.auth_data = own.method, own.data()
        if not self.role:
            return
        body.original_principal = self.role
        body.proxy_version = PROXY_VERSION
        if self.forward:
            body.original_auth_data = self.client.auth_data.decode(errors="replace")
            body.original_auth_method = self.client.auth_method_name

    def _pass_on(self, body: CommandConnect) -> None:
        if self.client.HasField("auth_method"):
            body.auth_method = self.client.auth_method
        if self.client.HasField("auth_method_name"):
            body.auth_method_name = self.client.auth_method_name
        if self.client.HasField("auth_data"):
            body.auth_data = self.client.auth_data
