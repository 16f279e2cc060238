"""Sockets to servers: plain or in TLS, for everything that speaks the binary protocol itself."""

import socket
from functools import cached_property
from typing import TYPE_CHECKING

from pulsarctl.auth.authentication import authentication_of, certificate_pair
from pulsarctl.errors import CannotConnect, NotAuthorized
from pulsarctl.settings.addresses import Address
from pulsarctl.settings.client_security import ClientSecurity

if TYPE_CHECKING:
    import ssl


class Channel:
    """The authentication and the TLS context of one client, shared by its connections."""

    def __init__(self, security: ClientSecurity) -> None:
        """Raises `UsageProblem`."""
        self._security = security
        self.authentication = authentication_of(security)

    @cached_property
    def context(self) -> "ssl.SSLContext":
        """Raises `UsageProblem`."""
        from pulsarctl.auth.tls import client_context

        return client_context(self._security, certificate_pair(self._security))

    def open(self, address: Address, scheme: str, timeout_seconds: float) -> socket.socket:
        """A connected socket, in TLS if the scheme says so. Raises `CannotConnect`."""
        url = f"{scheme}://{address}"
        is_tls = scheme in ("pulsar+ssl", "https")
        context = self.context if is_tls else None  # before the connection: its files may be unusable
        try:
            connection = socket.create_connection(address, timeout=timeout_seconds)
        except OSError as error:
            reason = error.strerror or str(error) or type(error).__name__
            raise CannotConnect(f"cannot reach the broker at {url}: {reason}", request=url) from error
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection if context is None else self.secured(connection, address, url)

    def secured(self, connection: socket.socket, address: Address, url: str) -> "ssl.SSLSocket":
        """TLS on a connected socket, which is closed if that fails. Raises `CannotConnect`."""
        import ssl

        from pulsarctl.auth.tls import words

        try:
            return self.context.wrap_socket(connection, server_hostname=address.host)
        except OSError as error:
            connection.close()
            reason = words(error) if isinstance(error, ssl.SSLError) else "it does not answer in TLS"
            raise CannotConnect(f"cannot reach the broker at {url}: {reason}", request=url) from error

    def refused(self, url: str, error: OSError) -> NotAuthorized | None:
        """The error for a server that ends a connection because of our certificate, or because we sent none.

        It does so after the handshake, instead of its first answer (TLS 1.3), with an alert or without.
        """
        if type(error).__name__ == "SSLError":  # importing `ssl` takes as long as a request
            from pulsarctl.auth.tls import concerns_client_certificate, words

            if concerns_client_certificate(error):  # type: ignore[arg-type]  # its name says it
                return NotAuthorized(f"cannot use {url}: {words(error)}", request=url)  # type: ignore[arg-type]  # see above
        is_tls = url.startswith(("pulsar+ssl:", "https:"))
        if is_tls and isinstance(error, ConnectionError) and certificate_pair(self._security) is None:
            return NotAuthorized(
                f"cannot use {url}: it ends the connection after the TLS handshake",
                hint="if it requires a client certificate, specify --tls-cert FILE --tls-key FILE",
                request=url,
            )
        return None
