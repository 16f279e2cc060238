"""The limit on the files and sockets that the process may have open, and the share of connections in it.

Connections that take every descriptor would keep the broker from opening its own files.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import sys

CLIENTS = 5 / 8  # share of all descriptors; ledger files take a quarter at most
ADMIN = 6 / 8  # the admin API answers while other clients are refused
MOST = 1 << 20  # some systems say "unlimited", and mean less
TOO_MANY = "Reached the maximum number of connections: the process cannot open more files (ulimit -n)"


def limit() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def raise_limit() -> None:
    """Raise the limit to what the system allows, as a JVM does. Call it only in a process that the broker owns."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = MOST if hard == resource.RLIM_INFINITY else min(hard, MOST)
    if soft != resource.RLIM_INFINITY and soft < target:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))


def descriptor_of(transport: asyncio.BaseTransport) -> int:
    """-1 for a transport without a socket."""
    socket = transport.get_extra_info("socket")
    return -1 if socket is None else int(socket.fileno())


def are_scarce(descriptor: int, share: float = CLIENTS) -> bool:
    """Whether more than a share of all descriptors is in use.

    The system gives a new connection the lowest free number, so its number tells how many are in use.
    """
    return descriptor >= limit() * share
