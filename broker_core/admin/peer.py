"""The two ends of the connection of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.admin.browsers import is_loopback

if TYPE_CHECKING:
    from aiohttp import web


def certificate_of(request: web.BaseRequest) -> bytes:
    """The client's certificate in DER form, verified by TLS; empty without one."""
    tls = _extra_info(request, "ssl_object")
    return (tls.getpeercert(True) or b"") if tls is not None else b""


def own_end(request: web.BaseRequest) -> tuple[Any, ...] | None:
    """The address of this machine by which the request came."""
    address: tuple[Any, ...] | None = _extra_info(request, "sockname")
    return address


def is_over_loopback(request: web.BaseRequest) -> bool:
    address = own_end(request)
    return address is None or is_loopback(str(address[0]))


def _extra_info(request: web.BaseRequest, name: str) -> Any:
    return request.transport.get_extra_info(name) if request.transport is not None else None
