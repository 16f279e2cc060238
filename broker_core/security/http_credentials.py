"""The credentials that an HTTP request sends."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

from broker_core.security.provider import Credentials

METHOD_HEADER = "X-Pulsar-Auth-Method-Name"


def http_credentials(
    headers: Mapping[str, str], query: Mapping[str, str], certificate: bytes = b""
) -> dict[str, Credentials]:
    """The credentials in a request, by method. `headers` compares names without case."""
    credentials: dict[str, Credentials] = {}
    sent = headers.get("Authorization")
    if sent is None and "token" in query:
        credentials["token"] = Credentials(query["token"].encode(errors="replace"))
    elif sent is not None and sent.startswith("Bearer "):
        credentials["token"] = Credentials(sent.removeprefix("Bearer ").encode(errors="replace"))
    elif sent is not None and sent[:6].lower() == "basic ":
        credentials["basic"] = Credentials(_decoded(sent[6:].strip()))
    if certificate:
        credentials["tls"] = Credentials(certificate=certificate)
    return credentials


def _decoded(text: str) -> bytes:
    """Return an empty value for text that is not base64: no user has an empty name."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
