"""Whether a broker listens at a service URL, asked before the official client is started.

That client retries a refused connection, or one to a web server, until its operation timeout and then says
`ConnectError`; the operating system says at once, and says why.
"""

import socket
import struct
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from pulsarctl.errors import CannotConnect, CliError, TimedOut, UsageProblem

HEAD = struct.Struct(">II")  # of a frame without payload: its size behind these four bytes, the command's size
ANSWER_BYTES_MAX = 1 << 20  # far above CONNECTED or an error
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
    _first_that_passes(service_url, origin, time.monotonic() + timeout_seconds, lambda connection, deadline: None)


def check_answers(service_url: str, origin: str, timeout_seconds: float, token: str | None) -> None:
    """As `check_reachable`, and the broker answers in Pulsar's binary protocol. Raises `TimedOut` when it is silent.

    Only where the connection is a plain one: that of `pulsar://`.
    """
    if not service_url.startswith("pulsar://"):
        check_reachable(service_url, origin, timeout_seconds)
        return
    hello = _connect_frame(token)

    def shake_hands(connection: socket.socket, deadline: float) -> None:
        connection.sendall(hello)
        head = b""
        while len(head) < HEAD.size:
            connection.settimeout(max(0.001, deadline - time.monotonic()))
            chunk = connection.recv(64)
            if not chunk:
                raise OSError("it hangs up: is that the port of the binary protocol?")
            head += chunk
        frame_size, command_size = HEAD.unpack_from(head)
        if frame_size != command_size + 4 or frame_size > ANSWER_BYTES_MAX:
            who = "a web server answers" if head.startswith((b"HTTP", b"<")) else "what answers is no broker"
            raise OSError(f"{who}: is that the port of the binary protocol?")

    _first_that_passes(service_url, origin, time.monotonic() + timeout_seconds, shake_hands)


def _first_that_passes(
    service_url: str, origin: str, deadline: float, check: Callable[[socket.socket, float], None]
) -> None:
    problem: OSError | None = None
    kind: type[CliError] = CannotConnect
    for address in addresses(service_url):
        kind = CannotConnect
        try:
            with socket.create_connection(address, max(0.001, deadline - time.monotonic())) as connection:
                kind = TimedOut
                check(connection, deadline)
            return
        except TimeoutError as error:
            problem = OSError("it accepts connections and says nothing") if kind is TimedOut else error
        except OSError as error:
            problem, kind = error, CannotConnect
    reason = (problem.strerror or str(problem)) if problem else "no address"
    raise kind(
        f"cannot connect to {service_url} (from {origin}): {reason}",
        hint="start a broker with 'pulsarctl standalone', or name another one with --url URL",
        request=service_url,
    )


def _connect_frame(token: str | None) -> bytes:
    """CONNECT by hand: the generated module of the protocol costs more to import than the answer takes."""
    fields = _bytes_field(1, b"pulsarctl") + b"\x20\x13"  # client_version, protocol_version 19
    if token:
        fields += _bytes_field(5, b"token") + _bytes_field(3, token.encode())  # auth_method_name, auth_data
    command = b"\x08\x02" + _bytes_field(2, fields)  # type CONNECT, connect
    return HEAD.pack(4 + len(command), len(command)) + command


def _bytes_field(number: int, value: bytes) -> bytes:
    """A field of protobuf's wire type 2."""
    size, encoded = len(value), bytearray((number << 3 | 2,))
    while size > 127:
        encoded.append(size & 127 | 128)
        size >>= 7
    return bytes((*encoded, size)) + value


def _address(scheme: str, host: str, service_url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{host.rpartition('@')[2]}")
        port = parts.port or DEFAULT_PORTS[scheme]
    except ValueError as error:
        raise UsageProblem(f"'{service_url}' is not a service URL: {error}") from error
    if not parts.hostname:
        raise UsageProblem(f"'{service_url}' is not a service URL: it names no host")
    return parts.hostname, port
