"""The ports of a server: a bound socket for each address that the machine has, all on one port, and the listeners."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable

LOOPBACK = ("127.0.0.1", "::1")
SAME_PORT_ATTEMPTS = 20
BACKLOG = 1024
HANDSHAKE_SECONDS = 10.0  # of the TLS protocol
GOODBYE_SECONDS = 5.0  # of the TLS protocol


class PortInUse(Exception):
    """`str(error)` names the port and the way out."""


def bind(hosts: tuple[str, ...], port: int, flag: str) -> list[socket.socket]:
    """One bound socket for each host that the machine has, all on one port. Raises `PortInUse`."""
    for attempt in range(SAME_PORT_ATTEMPTS):
        sockets: list[socket.socket] = []
        try:
            for host in hosts:
                bound = _bind_one(host, port_of(sockets) if sockets else port)
                if bound is not None:
                    sockets.append(bound)
            return sockets
        except OSError as error:
            for bound in sockets:
                bound.close()
            last_try = port != 0 or attempt == SAME_PORT_ATTEMPTS - 1
            if error.errno != errno.EADDRINUSE or last_try:
                raise PortInUse(_why_not(hosts, port, flag, error)) from error
    raise AssertionError("the last attempt returns or raises")


def _bind_one(host: str, port: int) -> socket.socket | None:
    """Return a bound socket, or None where the machine does not have the address family (IPv6)."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.socket(family, socket.SOCK_STREAM)
    except OSError:
        return None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.setblocking(False)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        if host == LOOPBACK[1] and error.errno == errno.EADDRNOTAVAIL:
            return None
        raise
    return listener


def _why_not(hosts: tuple[str, ...], port: int, flag: str, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is in use on {' or '.join(hosts)}; stop what uses it, or take a free one with {flag} 0"
    return f"cannot listen on {' and '.join(hosts)} port {port}: {error.strerror}"


def port_of(sockets: list[socket.socket]) -> int:
    """-1 for a listener that is switched off."""
    return int(sockets[0].getsockname()[1]) if sockets else -1


async def listen(
    sockets: list[socket.socket],
    connection: Callable[[], asyncio.Protocol],
    context: ssl.SSLContext | None,
    listeners: list[asyncio.Server],
) -> None:
    """Accepts connections on each socket, with TLS if there is a context, and adds what to close to `listeners`."""
    loop = asyncio.get_running_loop()
    for listener in sockets:
        server = await loop.create_server(
            connection,
            sock=listener,
            backlog=BACKLOG,
            ssl=context,
            ssl_handshake_timeout=HANDSHAKE_SECONDS if context else None,
            ssl_shutdown_timeout=GOODBYE_SECONDS if context else None,
        )
        listeners.append(server)
