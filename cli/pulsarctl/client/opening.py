"""The official client with the credentials and certificates of this one."""

from collections.abc import Callable
from math import ceil
from typing import Any

import pulsar

from pulsarctl.auth.authentication import (
    Authentication,
    CertificateAuthentication,
    PasswordAuthentication,
    TokenAuthentication,
    authentication_of,
    certificate_pair,
)
from pulsarctl.errors import CliError
from pulsarctl.settings.client_security import ClientSecurity


def open_client(security: ClientSecurity, service_url: str, timeout_seconds: float, logger: Any) -> Any:
    """`timeout_seconds` bounds each connect and each request. The caller closes the client. Raises `UsageProblem`."""
    certificate, key = certificate_pair(security) or (None, None)
    return pulsar.Client(
        service_url,
        authentication=_official(authentication_of(security)),
        operation_timeout_seconds=max(1, ceil(timeout_seconds)),
        connection_timeout_ms=max(1, round(timeout_seconds * 1000)),
        tls_trust_certs_file_path=security.tls_trust_cert_path,
        tls_allow_insecure_connection=security.tls_allow_insecure,
        tls_validate_hostname=security.tls_verify_hostname and not security.tls_allow_insecure,
        tls_certificate_file_path=certificate,
        tls_private_key_file_path=key,
        logger=logger,
    )


def _official(authentication: Authentication) -> Any:
    match authentication:
        case TokenAuthentication():
            authentication.token()  # an error now is an error of the command
            return pulsar.AuthenticationToken(_supplier(authentication))
        case PasswordAuthentication(user=user, source=source):
            return pulsar.AuthenticationBasic(user, source())
        case CertificateAuthentication(certificate_file=certificate, key_file=key):
            return pulsar.AuthenticationTLS(certificate, key)
    return None


def _supplier(authentication: TokenAuthentication) -> Callable[[], str]:
    """The token for a thread of the client, which must not raise: the broker refuses an empty token."""

    def token() -> str:
        try:
            return authentication.token()
        except CliError:
            return ""

    return token
