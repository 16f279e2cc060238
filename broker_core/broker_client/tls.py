"""The TLS context of a client."""

from __future__ import annotations

import ssl
from collections.abc import Iterable


def client_context(
    trust_file: str, certificates: Iterable[tuple[str, str]], *, also_public: bool = False
) -> ssl.SSLContext:
    """Trusts the authorities in `trust_file`, and public ones without it or if `also_public`.

    `certificates`: the files of a client certificate and of its key, which is "" if it is in the same file. Raises
    `OSError`, of which `ssl.SSLError` is one, or `ValueError`.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if trust_file:
        context.load_verify_locations(trust_file)
    if also_public or not trust_file:
        context.load_default_certs()
    for certificate, key in certificates:
        context.load_cert_chain(certificate, key or None, _no_password)
    return context


def _no_password() -> str:
    """Without it, OpenSSL would ask on the terminal."""
    raise ValueError("the private key is encrypted; decrypt it with openssl pkey")
