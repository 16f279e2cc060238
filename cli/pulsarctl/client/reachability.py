"""Checks that a broker listens at a service URL before the official client starts.

The client retries a refused connection, or one to a web server, until its operation timeout, and then reports
`ConnectError`. The operating system reports the reason immediately, without a log on stderr.
"""

import socket
import struct
import time
from collections.abc import Callable

from pulsarctl.errors import CannotConnect, CliError, TimedOut
from pulsarctl.output.next_steps import after_no_answer
from pulsarctl.settings import credentials
from pulsarctl.settings.addresses import service_addresses
from pulsarctl.settings.settings import Settings

Ask = Callable[[socket.socket, float], None]  # raises `OSError` unless the expected server answers by the deadline

HEAD = struct.Struct(">II")  # of a frame without payload: the size after these four bytes, and the size of the command
ANSWER_BYTES_MAX = 1 << 20  # far above CONNECTED or an error


def check_reachable(settings: Settings, timeout_seconds: float) -> None:
    """Returns if one of the brokers accepts a connection. Raises `CannotConnect` with the last failure."""
    _first_that_passes(settings, time.monotonic() + timeout_seconds, lambda connection, deadline: None)


def check_answers(settings: Settings, timeout_seconds: float) -> None:
    """Returns if one of the brokers answers in the protocol of the URL's scheme, including TLS.

    Raises `CannotConnect`, or `TimedOut` if it does not answer.
    """
    scheme = settings.service_url.partition("://")[0]
    ask = _ask_web_server if scheme in ("http", "https") else _hello(credentials.token(settings))
    if scheme in ("pulsar+ssl", "https"):
        ask = _in_tls(settings, ask)
    _first_that_passes(settings, time.monotonic() + timeout_seconds, ask)


def _hello(token: str | None) -> Ask:
    frame = _connect_frame(token)

    def shake_hands(connection: socket.socket, deadline: float) -> None:
        head = _answer(connection, frame, HEAD.size, deadline)
        frame_size, command_size = HEAD.unpack_from(head)
        if frame_size != command_size + 4 or frame_size > ANSWER_BYTES_MAX:
            who = "a web server answered" if head.startswith((b"HTTP", b"<")) else "not a broker"
            raise OSError(f"{who}; is this the port of the binary protocol?")

    return shake_hands


def _ask_web_server(connection: socket.socket, deadline: float) -> None:
    try:
        head = _answer(connection, b"GET / HTTP/1.0\r\n\r\n", len(b"HTTP/"), deadline)
    except (ConnectionError, HungUp) as error:
        raise OSError("not a web server; is this the port of the admin API?") from error
    if not head.startswith(b"HTTP/"):
        raise OSError("not a web server; is this the port of the admin API?")


def _in_tls(settings: Settings, ask: Ask) -> Ask:
    import ssl

    from pulsarctl.settings.tls import client_context, words

    context = client_context(settings)

    def ask_in_tls(connection: socket.socket, deadline: float) -> None:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        host = service_addresses(settings.service_url)[0][0]
        try:
            with context.wrap_socket(connection, server_hostname=host) as secured:
                ask(secured, deadline)
        except ssl.SSLError as error:
            raise OSError(words(error)) from error

    return ask_in_tls


def _answer(connection: socket.socket, question: bytes, least_bytes: int, deadline: float) -> bytes:
    connection.sendall(question)
    head = b""
    while len(head) < least_bytes:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        chunk = connection.recv(64)
        if not chunk:
            raise HungUp("it closed the connection; is this the port of the binary protocol?")
        head += chunk
    return head


class HungUp(OSError):
    """The other side closed the connection instead of answering."""


def _first_that_passes(settings: Settings, deadline: float, ask: Ask) -> None:
    problem: OSError | None = None
    kind: type[CliError] = CannotConnect
    connected = False
    found = service_addresses(settings.service_url)
    for address in found:
        kind = CannotConnect
        try:
            with socket.create_connection(address, max(0.001, deadline - time.monotonic())) as connection:
                kind, connected = TimedOut, True
                ask(connection, deadline)
            return
        except TimeoutError as error:
            problem = OSError("it accepts connections but does not answer") if kind is TimedOut else error
        except OSError as error:
            problem, kind = error, CannotConnect
    reason = (problem.strerror or str(problem)) if problem else "no address"
    raise kind(
        f"cannot connect to {settings.service_url} (from {settings.origin('service_url')}): {reason}",
        hint=after_no_answer([host for host, _ in found], "--url", connected=connected),
        request=settings.service_url,
    )


def _connect_frame(token: str | None) -> bytes:
    """CONNECT, encoded by hand: importing the protocol module takes longer than the check."""
    fields = _bytes_field(1, b"pulsarctl") + b"\x20\x13"  # client_version, protocol_version 19
    if token:
        fields += _bytes_field(5, b"token") + _bytes_field(3, token.encode())  # auth_method_name, auth_data
    command = b"\x08\x02" + _bytes_field(2, fields)  # type CONNECT, connect
    return HEAD.pack(4 + len(command), len(command)) + command


def _bytes_field(number: int, value: bytes) -> bytes:
    """A protobuf field of wire type 2."""
    size, encoded = len(value), bytearray((number << 3 | 2,))
    while size > 127:
        encoded.append(size & 127 | 128)
        size >>= 7
    return bytes((*encoded, size)) + value
