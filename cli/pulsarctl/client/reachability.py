"""Checks that a broker listens at a service URL before the official client starts.

The client retries a refused connection, or one to a web server, until its operation timeout, and then reports
`ConnectError`. The operating system reports the reason immediately, without a log on stderr.
"""

import socket
import time
from collections.abc import Callable

from pulsarctl.auth.authentication import Authentication, not_accepted
from pulsarctl.auth.channel import Channel
from pulsarctl.client.connect_frame import HEAD, REFUSALS, connect_frame, error_in
from pulsarctl.errors import CannotConnect, CliError, TimedOut
from pulsarctl.output.next_steps import after_no_answer
from pulsarctl.settings.addresses import Address, service_addresses
from pulsarctl.settings.settings import Settings

Ask = Callable[[socket.socket, Address, float], None]  # raises `OSError` unless the expected server answers in time

TLS_ALERT = b"\x15\x03"  # how a server answers in TLS to what is not
ANSWER_BYTES_MAX = 1 << 20  # far above CONNECTED or an error


def check_reachable(settings: Settings, timeout_seconds: float) -> None:
    """Returns if one of the brokers accepts a connection. Raises `CannotConnect` with the last failure."""
    _first_that_passes(settings, time.monotonic() + timeout_seconds, lambda connection, address, deadline: None)


def check_answers(settings: Settings, timeout_seconds: float) -> None:
    """Returns if one of the brokers accepts the credentials in the protocol of the URL's scheme, including TLS.

    The official client repeats a CONNECT that is refused until its timeout. Raises `NotAuthorized`, `CannotConnect`, or
    `TimedOut` if it does not answer.
    """
    channel = Channel(settings)
    scheme = settings.service_url.partition("://")[0]
    speak = _web_server if scheme in ("http", "https") else _broker
    ask = speak(channel.authentication, settings.service_url)
    if scheme in ("pulsar+ssl", "https"):
        ask = _in_tls(channel, settings.service_url, ask)
    _first_that_passes(settings, time.monotonic() + timeout_seconds, ask)


def _broker(authentication: Authentication, url: str) -> Ask:
    frame = connect_frame(authentication)

    def shake_hands(connection: socket.socket, _address: Address, deadline: float) -> None:
        connection.sendall(frame)
        answer = _received(connection, len(TLS_ALERT), deadline)
        if answer.startswith(TLS_ALERT):
            raise OSError("it expects TLS; use pulsar+ssl://")
        answer += _received(connection, HEAD.size - len(answer), deadline)
        frame_size, command_size = HEAD.unpack_from(answer)
        if frame_size != command_size + 4 or frame_size > ANSWER_BYTES_MAX:
            # the same as `broker_core.wire.wrong_port`, which `produce` and `consume` do not import.
            who = "a web server answered" if answer.startswith((b"HTTP", b"<")) else "not a broker"
            raise OSError(f"{who}; is this the port of the binary protocol?")
        answer += _received(connection, HEAD.size + command_size - len(answer), deadline)
        _check_accepted(answer[HEAD.size : HEAD.size + command_size], url, authentication)

    return shake_hands


def _check_accepted(command: bytes, url: str, authentication: Authentication) -> None:
    """Raises `NotAuthorized`, or `OSError` with the broker's reason, if the command is an error."""
    try:
        error = error_in(command)
    except ValueError:
        raise OSError("not a broker; is this the port of the binary protocol?") from None
    if error is None:
        return
    code, message = error
    if code in REFUSALS:
        raise not_accepted(url, authentication)
    raise OSError(f"it refuses the connection: {message}")


def _web_server(authentication: Authentication, url: str) -> Ask:
    header = authentication.header()
    credentials = f"Authorization: {header}\r\n" if header else ""
    if authentication.method:
        credentials += f"X-Pulsar-Auth-Method-Name: {authentication.method}\r\n"

    def ask(connection: socket.socket, address: Address, deadline: float) -> None:
        request = f"GET /admin/v2/brokers/version HTTP/1.0\r\nHost: {address}\r\n{credentials}\r\n"
        try:
            connection.sendall(request.encode())
            head = _received(connection, len(b"HTTP/1.1 200"), deadline)
        except ConnectionError as error:
            if url.startswith("https:"):
                raise
            raise OSError("not a web server; is this the port of the admin API?") from error
        if not head.startswith(b"HTTP/"):
            raise OSError("not a web server; is this the port of the admin API?")
        if head.split(b" ")[1] == b"401":
            raise not_accepted(url, authentication)

    return ask


def _in_tls(channel: Channel, url: str, ask: Ask) -> Ask:
    import ssl

    from pulsarctl.auth.tls import words

    context = channel.context

    def ask_in_tls(connection: socket.socket, address: Address, deadline: float) -> None:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            with context.wrap_socket(connection, server_hostname=address.host) as secured:
                ask(secured, address, deadline)
        except (ssl.SSLError, ConnectionError) as error:
            reason = words(error) if isinstance(error, ssl.SSLError) else str(error)
            raise channel.refused(url, error) or OSError(reason) from error

    return ask_in_tls


def _received(connection: socket.socket, least_bytes: int, deadline: float) -> bytes:
    """At least this number of bytes. Raises `HungUp`, or `TimeoutError`."""
    received = b""
    while len(received) < least_bytes:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        chunk = connection.recv(4096)
        if not chunk:
            raise HungUp(
                "it closed the connection; is this the port of the binary protocol, and is the scheme of the URL right?"
            )
        received += chunk
    return received


class HungUp(ConnectionError):
    """The other side closed the connection instead of answering."""


def _first_that_passes(settings: Settings, deadline: float, ask: Ask) -> None:
    problem: OSError | None = None
    kind: type[CliError] = CannotConnect
    connected = False
    addresses = service_addresses(settings.service_url)
    for address in addresses:
        kind = CannotConnect
        try:
            with socket.create_connection(address, max(0.001, deadline - time.monotonic())) as connection:
                kind, connected = TimedOut, True
                ask(connection, address, deadline)
            return
        except TimeoutError as error:
            problem = OSError("it accepts connections but does not answer") if kind is TimedOut else error
        except OSError as error:
            problem, kind = error, CannotConnect
    reason = (problem.strerror or str(problem)) if problem else "no address"
    raise kind(
        f"cannot connect to {settings.service_url} (from {settings.origin('service_url')}): {reason}",
        hint=after_no_answer([host for host, _ in addresses], "--url", connected=connected),
        request=settings.service_url,
    )
