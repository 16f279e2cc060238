"""The authentication of a connection: by CONNECT, and again by AUTH_RESPONSE when its credentials expire.

A client that fails gets ERROR `AuthenticationError`, and the connection is closed. Clients of the C++ family (Python,
Node.js) and the Go client ignore an ERROR before CONNECTED and retry until their timeout. They get CONNECTED, and the
error as the answer to their first request, which they report at once; nothing else is answered on such a connection.
"""

from __future__ import annotations

from broker_core.client_log import ClientLog
from broker_core.errors import AuthenticationFailed, BrokerError, ProtocolViolation, Unauthorized
from broker_core.security.principal import Principal
from broker_core.security.provider import Credentials, Identity
from broker_core.security.refresh import Refresh
from broker_core.security.service import REFUSED
from broker_core.server.session import Session, SessionState
from broker_core.wire import commands
from broker_core.wire import pulsar_api_pb2 as pb

log = ClientLog(__name__)

CHALLENGE = b"PulsarAuthRefresh"
_LEGACY_METHODS = {pb.AuthMethodYcaV1: "ycav1", pb.AuthMethodAthens: "athens"}


async def authenticate(session: Session, command: pb.CommandConnect) -> None:
    """Makes the session READY, or REFUSED. Raises `AuthenticationFailed` or `Unauthorized`."""
    method = _method(command)
    try:
        identity = await _identity(session, method, command.auth_data)
        principal, watched = await _principal(session, command, identity)
    except BrokerError as error:
        log.info(session.host, "", "cannot authenticate %s by %s: %s", session.address, method or "none", error)
        session.become(SessionState.REFUSED)
        raise
    session.check_open()
    session.principal = principal
    if watched.expires_ms is not None:
        session.refresh = _refresh(session, command, method, watched)
    log.info(session.host, "", "connected %s with role=%s using authMethod=%s", session.address, principal, method)
    session.become(SessionState.READY)
    session.outbound.authenticated()


def _refresh(session: Session, command: pb.CommandConnect, method: str, identity: Identity) -> Refresh:
    challenge = None
    if _can_refresh(command):
        challenge = commands.auth_challenge(session.protocol_version, method, CHALLENGE)
    seconds = session.broker.config.security.refresh_seconds
    return Refresh(session.outbound, session.broker.clock, identity, challenge, seconds=seconds)


def _method(command: pb.CommandConnect) -> str:
    if command.HasField("auth_method_name"):
        return command.auth_method_name
    return _LEGACY_METHODS.get(command.auth_method, "none")


def _can_refresh(command: pb.CommandConnect) -> bool:
    """A client behind a proxy can renew its credentials only if the proxy passes them on."""
    through_proxy = command.original_principal and not command.original_auth_data
    return command.feature_flags.supports_auth_refresh and not through_proxy


async def _principal(session: Session, command: pb.CommandConnect, identity: Identity) -> tuple[Principal, Identity]:
    """The principal, and the identity whose expiry counts: behind a proxy that of its client, if it was checked."""
    security, watched = session.broker.security, identity
    original = command.original_principal
    if command.proxy_version and not security.is_proxy(identity.role):
        raise Unauthorized("Must not set proxyVersion without connecting as a ProxyRole.")
    if security.config.original_data and security.is_proxy(identity.role):
        if not command.original_auth_data:
            raise Unauthorized("Invalid roles.")
        session.is_proxied = True
        data = command.original_auth_data.encode(errors="replace")
        watched = await _identity(session, command.original_auth_method or "none", data)
        original = watched.role
    return security.principal(identity.role, original), watched


async def _identity(session: Session, method: str, data: bytes) -> Identity:
    """The identity that the credentials prove; the certificate of a proxy proves nothing about its clients."""
    credentials = Credentials(data) if session.is_proxied else Credentials(data, session.outbound.certificate)
    return await session.broker.security.authenticate(session.host, method, credentials, is_proxied=session.is_proxied)


async def on_auth_response(session: Session, command: pb.CommandAuthResponse) -> None:
    """AUTH_RESPONSE: new credentials of the same role; anything else ends the connection."""
    security = session.broker.security
    if session.state is SessionState.READY and security.authentication is None:
        return
    try:
        if session.state is not SessionState.READY or session.principal is None:
            raise AuthenticationFailed("AUTH_RESPONSE before CONNECT")
        identity = await _identity(session, command.response.auth_method_name, command.response.auth_data)
    except AuthenticationFailed as error:
        log.info(session.host, "", "cannot renew the authentication of %s: %s", session.address, error)
        refuse(session, AuthenticationFailed(REFUSED))
        return
    if identity.role != session.principal.name:
        raise ProtocolViolation(f"{session.address} sent the credentials of another role")
    if session.refresh is not None:
        session.refresh.renewed(identity)


def refuse(session: Session, error: BrokerError) -> None:
    """Sends the ERROR of a failed handshake, and closes the connection."""
    session.outbound.send(commands.error(commands.BROKER_REQUEST_ID, error.server_error, error.reason))
    session.outbound.close()
