"""The limit on the files and sockets that the process may have open, and the share of connections in it.

Connections that take every descriptor would keep the broker from opening its own files.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys

CLIENTS = 5 / 8  # share of all descriptors; ledger files take a quarter at most
ADMIN = 6 / 8  # the admin API answers while other clients are refused
LIMITS = (1 << 20, 1 << 16, 24_576, 10_240)  # some systems say "unlimited", and allow one of these
TOO_MANY = "Reached the maximum number of connections: the process cannot open more files (ulimit -n)"

_is_owned = False


def limit() -> int:
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def raise_limit() -> None:
    """Raise the limit to what the system allows, as a JVM does. Call it only in a process that the broker owns.

    Only then are connections refused: elsewhere, the files of another program count.
    """
    if sys.platform == "win32":  # the console runs there, too
        return
    import resource

    global _is_owned  # the limit is one of the process
    _is_owned = True
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = [most if hard == resource.RLIM_INFINITY else min(hard, most) for most in LIMITS]
    for target in allowed:
        if soft == resource.RLIM_INFINITY or soft >= target:
            return
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
            return


def descriptor_of(transport: asyncio.BaseTransport) -> int:
    """-1 for a transport without a socket."""
    socket = transport.get_extra_info("socket")
    return -1 if socket is None else int(socket.fileno())


def are_scarce(descriptor: int, share: float = CLIENTS) -> bool:
    """Whether more than a share of all descriptors is in use.

    The system gives a new connection the lowest free number, so its number tells how many are in use.
    """
    return _is_owned and descriptor >= limit() * share
