"""Method `tls`: a client certificate that TLS has verified; its common name is the role."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, ClassVar

from broker_core.errors import AuthenticationFailed
from broker_core.security.provider import Credentials, Identity, checked_role

if TYPE_CHECKING:
    from broker_core.security.provider_setup import Setup


class TlsProvider:
    method: ClassVar[str] = "tls"

    def __init__(self, _setup: Setup) -> None:
        # Imported now, so that a missing library keeps the broker from starting.
        importlib.import_module("cryptography.x509")

    async def authenticate(self, credentials: Credentials) -> Identity:
        if not credentials.certificate:
            raise AuthenticationFailed("the client sent no certificate")
        return Identity(checked_role(_common_name(credentials.certificate)))


def _common_name(certificate: bytes) -> str:
    """Several names would let an issuer of one sign for another, so there must be exactly one."""
    from cryptography import x509

    try:
        attributes = x509.load_der_x509_certificate(certificate).subject.get_attributes_for_oid(
            x509.NameOID.COMMON_NAME
        )
        names = [str(attribute.value) for attribute in attributes]
    except (ValueError, x509.InvalidVersion):
        raise AuthenticationFailed("the certificate cannot be read") from None
    if len(names) != 1:
        raise AuthenticationFailed(f"the certificate has {len(names)} common names, and needs one")
    return names[0]
