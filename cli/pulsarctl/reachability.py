"""Whether anybody listens at a service URL, asked before the official client is started.

That client retries a refused connection until its operation timeout and then says `ConnectError`; the operating system
says at once, and says why.
"""

import socket
import time
from urllib.parse import urlsplit

from pulsarctl.errors import CannotConnect, UsageProblem

DEFAULT_PORTS = {"pulsar": 6650, "pulsar+ssl": 6651, "http": 80, "https": 443}


def addresses(service_url: str) -> list[tuple[str, int]]:
    """Host and port of each broker in `pulsar://a:6650,b:6650`. Raises `UsageProblem`."""
    scheme, separator, rest = service_url.partition("://")
    if not separator or scheme not in DEFAULT_PORTS:
        hint = f"write one of {', '.join(DEFAULT_PORTS)} and HOST:PORT behind ://"
        raise UsageProblem(f"'{service_url}' is not a service URL", hint=hint)
    return [_address(scheme, host, service_url) for host in rest.split("/", 1)[0].split(",")]


def check_reachable(service_url: str, origin: str, timeout_seconds: float) -> None:
    """Returns when one of the brokers accepts a connection. Raises `CannotConnect` with the last one's reason.

    `origin` says where the URL came from, because most failures are about which broker was asked.
    """
    deadline = time.monotonic() + timeout_seconds
    problem: OSError | None = None
    for address in addresses(service_url):
        try:
            socket.create_connection(address, max(0.001, deadline - time.monotonic())).close()
        except OSError as error:
            problem = error
        else:
            return
    reason = (problem.strerror or str(problem)) if problem else "no address"
    raise CannotConnect(
        f"cannot connect to {service_url} (from {origin}): {reason}",
        hint="start a broker with 'pulsarctl standalone', or name another one with --url URL",
        request=service_url,
    )


def _address(scheme: str, host: str, service_url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{host.rpartition('@')[2]}")
        port = parts.port or DEFAULT_PORTS[scheme]
    except ValueError as error:
        raise UsageProblem(f"'{service_url}' is not a service URL: {error}") from error
    if not parts.hostname:
        raise UsageProblem(f"'{service_url}' is not a service URL: it names no host")
    return parts.hostname, port
