"""Certificates as a server presents them or a file holds them, whether they are trusted or not."""

import socket
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from pulsarctl.errors import CliError
from pulsarctl.settings.addresses import Address, host_and_port, service_addresses

if TYPE_CHECKING:
    from types import ModuleType

    from cryptography.x509 import Certificate

ADMIN_PORT = 443


def tls_addresses(url: str) -> list[Address]:
    """The servers of a URL that are reached with TLS. Raises `UsageProblem` or `ValueError`."""
    scheme, _, hosts = url.partition("://")
    if scheme == "https":
        return [Address(*host_and_port(host.strip().split("/", 1)[0], ADMIN_PORT)) for host in hosts.split(",")]
    return service_addresses(url) if scheme == "pulsar+ssl" else []


def served(address: Address, timeout_seconds: float) -> "Certificate":
    """The certificate that the server presents. It is not verified, because an expired one is of interest, too."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        socket.create_connection(address, timeout_seconds) as connection,
        context.wrap_socket(connection, server_hostname=address.host) as secured,
    ):
        encoded = secured.getpeercert(binary_form=True)
    if encoded is None:
        raise CliError("the server presents none")
    certificate: Certificate = _library().load_der_x509_certificate(encoded)
    return certificate


def stored(path: str) -> "Certificate":
    """The first certificate in a PEM file. Raises `OSError` or `ValueError`."""
    certificate: Certificate = _library().load_pem_x509_certificate(Path(path).expanduser().read_bytes())
    return certificate


def not_after_ms(certificate: "Certificate") -> int:
    return round(certificate.not_valid_after_utc.timestamp() * 1000)


def _library() -> "ModuleType":
    try:
        from cryptography import x509
    except ImportError as error:
        raise CliError("the Python module cryptography is not installed (pip install 'pulsarctl[security]')") from error
    return x509
