"""The certificate by which a client of a TLS connection has identified itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import BaseTransport


def peer_certificate(transport: BaseTransport | None) -> bytes:
    """Return the certificate in DER form, verified by TLS; empty without one."""
    tls = transport.get_extra_info("ssl_object") if transport is not None else None
    return (tls.getpeercert(True) or b"") if tls is not None else b""
