"""The two ends of the connection of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.admin.browsers import is_loopback
from broker_core.security.peer_certificate import peer_certificate

if TYPE_CHECKING:
    from aiohttp import web


def certificate_of(request: web.BaseRequest) -> bytes:
    """The client's certificate in DER form, verified by TLS; empty without one."""
    return peer_certificate(request.transport)


def own_end(request: web.BaseRequest) -> tuple[Any, ...] | None:
    """The address of this machine by which the request came."""
    return request.transport.get_extra_info("sockname") if request.transport is not None else None


def is_over_loopback(request: web.BaseRequest) -> bool:
    address = own_end(request)
    return address is None or is_loopback(str(address[0]))
