"""A blocking connection to a broker's binary port.

Replies match requests by request ID. What the broker sends without a request, such as MESSAGE and SEND_RECEIPT, stays
in `arrived` until it is taken. The socket is read only during a wait, so a slow reader pushes back through TCP, and at
most one chunk of frames is in memory, or `GATHERED_BYTES` of entries. Every wait has a deadline. The rules of the
protocol are those of every client (`wire.client_protocol`).
"""

import itertools
import time
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from broker_core.wire import client_commands
from broker_core.wire.client_protocol import CHUNK_BYTES, ClientProtocol, reason_of
from broker_core.wire.errors import ProtocolError
from broker_core.wire.frame import Command, MessageFrame
from broker_core.wire.message_run import MessageGatherer, MessageRun
from broker_core.wire.pulsar_api_pb2 import (
    BaseCommand,
    CommandCloseConsumer,
    CommandCloseProducer,
    CommandError,
    CommandScalableTopicAssignmentUpdate,
    CommandScalableTopicUpdate,
    CommandSendError,
    CommandSendReceipt,
    ProtocolVersion,
    ServerError,
)
from broker_core.wire.wrong_port import WEB_SERVER_ANSWERED, is_web_server
from pulsarctl.auth.authentication import not_accepted
from pulsarctl.auth.channel import Channel
from pulsarctl.errors import CannotConnect, CliError, Conflict, NotAuthorized, NotFound, TimedOut, UsageProblem
from pulsarctl.settings.addresses import Address

GATHERED_BYTES = 2 * 1024 * 1024  # entries are taken apart when that many bytes have arrived
SILENCE_SECONDS = 0.002  # or when no more have arrived for this time
GATHER_SECONDS = 0.02  # or this time after the first of them
RETRY_SECONDS = 0.2  # to the next attempt, while a topic is loading or a broker is restarting
PROTOCOL_VERSION = ProtocolVersion.v19  # broker entry metadata requires 18; from 20 on, topics may be migrated

Arrived = (
    MessageFrame
    | MessageRun
    | CommandCloseConsumer
    | CommandSendReceipt
    | CommandSendError
    | CommandCloseProducer
    | CommandScalableTopicUpdate
    | CommandScalableTopicAssignmentUpdate
)
UNASKED = (
    BaseCommand.CLOSE_CONSUMER,
    BaseCommand.SEND_RECEIPT,
    BaseCommand.SEND_ERROR,
    BaseCommand.CLOSE_PRODUCER,
    BaseCommand.SCALABLE_TOPIC_UPDATE,
    BaseCommand.SCALABLE_TOPIC_ASSIGNMENT_UPDATE,
)
Reply = TypeVar("Reply")


class ConnectionLost(CannotConnect):
    """The connection ended while in use. Earlier data is valid, and the caller may reconnect."""


class NotReady(CliError):
    """The broker is not ready, because the topic is loading or moving. The caller may retry."""

    code = "not-ready"


class NotAllowed(CliError):
    """The broker does not do this, because of its settings or of the kind of the topic."""


class Terminated(CliError):
    """The topic takes no more messages. A segment of a scalable topic has successors."""


class NotOpen(Conflict):
    """The transaction has ended, or there never was one."""


def pause_before(deadline: float) -> bool:
    """Waits until the next attempt. Returns False at once if the attempt would come after the deadline."""
    if time.monotonic() + RETRY_SECONDS > deadline:
        return False
    time.sleep(RETRY_SECONDS)
    return True


# Our error for each refusal. Every other refusal is a plain failure.
ERROR_OF_REFUSAL: dict[int, type[CliError]] = {
    ServerError.AuthenticationError: NotAuthorized,
    ServerError.AuthorizationError: NotAuthorized,
    ServerError.ServiceNotReady: NotReady,
    ServerError.TooManyRequests: NotReady,
    ServerError.TopicNotFound: NotFound,
    ServerError.SubscriptionNotFound: NotFound,
    ServerError.NotAllowedError: NotAllowed,
    ServerError.TransactionCoordinatorNotFound: NotReady,
    ServerError.TransactionNotFound: NotOpen,
    ServerError.InvalidTxnStatus: NotOpen,
    ServerError.TransactionConflict: Conflict,
    ServerError.ConsumerBusy: Conflict,
    ServerError.TopicTerminatedError: Terminated,
}


# The scheme of the binary protocol for each scheme of a service URL.
_SCHEMES = {"pulsar": "pulsar", "pulsar+ssl": "pulsar+ssl", "http": "pulsar", "https": "pulsar+ssl"}


def broker_scheme(service_url: str) -> str:
    """`pulsar`, or `pulsar+ssl` for TLS. Raises `UsageProblem` for any other text."""
    scheme = _SCHEMES.get(service_url.partition("://")[0])
    if scheme is None:
        raise UsageProblem(
            f"cannot read from '{service_url}': it is not a service URL",
            hint="use pulsar://HOST:PORT or pulsar+ssl://HOST:PORT, such as pulsar://localhost:6650",
        )
    return scheme


class BrokerConnection(ClientProtocol):
    """A connection whose handshake is complete.

    `via` is the address that the socket connects to, and `broker` is the broker that a proxy at `via` connects to.
    `timeout_seconds` bounds the handshake and each request. Raises `CannotConnect`, `NotAuthorized`, `TimedOut`.
    """

    def __init__(
        self,
        via: Address,
        channel: Channel,
        *,
        scheme: str = "pulsar",
        timeout_seconds: float,
        broker: Address | None = None,
    ) -> None:
        super().__init__("pulsarctl", channel.authentication)
        self.address = via
        self.url = f"{scheme}://{via}"
        self.timeout_seconds = timeout_seconds
        self.arrived: deque[Arrived] = deque()
        self.is_lost = False
        self._ids = itertools.count(1)
        self._replies: dict[int, Any] = {}
        deadline = time.monotonic() + timeout_seconds
        self._channel = channel
        self._authentication = channel.authentication
        self._socket = channel.open(via, scheme, timeout_seconds)
        try:
            self._shake_hands(broker, deadline)
        except BaseException:
            self.close()
            raise

    @property
    def server_version(self) -> str:
        """The version that the broker reports. The bundled broker's starts with `pulsarctl`."""
        assert self.connected is not None, "the handshake is complete"
        return self.connected.server_version

    @property
    def has_scalable_topics(self) -> bool:
        assert self.connected is not None, "the handshake is complete"
        return self.connected.feature_flags.supports_scalable_topics

    def request(
        self, frame_of: Callable[[int], bytes], reply: type[Reply], *, topic: str, timeout_seconds: float | None = None
    ) -> Reply:
        """Sends the frame that `frame_of` builds for a new request ID, and returns the reply with this ID.

        `topic` is for error messages. `timeout_seconds` replaces the timeout of the connection. Raises the broker's
        error, `TimedOut`, or `ConnectionLost`.
        """
        request_id = next(self._ids)
        seconds = self.timeout_seconds if timeout_seconds is None else timeout_seconds
        deadline = time.monotonic() + seconds
        self.send(frame_of(request_id))
        while request_id not in self._replies:
            if not self.receive(deadline):
                raise TimedOut(f"{self.url} did not answer for {topic} within {round(seconds, 1):g} s")
        answer = self._replies.pop(request_id)
        if isinstance(answer, reply):
            return answer
        raise refusal(answer.error, answer.message, f"{topic} at {self.url}")

    def ask(
        self, frame_of: Callable[[int], bytes], reply: type[Reply], *, topic: str, timeout_seconds: float | None = None
    ) -> Reply:
        """Like `request`, for a reply that carries an error itself."""
        answer: Any = self.request(frame_of, reply, topic=topic, timeout_seconds=timeout_seconds)
        if answer.HasField("error"):
            raise refusal(answer.error, answer.message, f"{topic} at {self.url}")
        return answer  # type: ignore[no-any-return]  # it is a `reply`

    def send(self, frames: bytes) -> None:
        """Raises `ConnectionLost`."""
        try:
            self._socket.settimeout(self.timeout_seconds)
            self._socket.sendall(frames)
        except OSError as error:
            raise self._lost(f"lost the connection to {self.url}: {error}") from error

    def take_close(self, consumer_id: int) -> bool:
        """Remove the CLOSE_CONSUMER of that consumer from `arrived`. Return whether there was one."""
        for item in self.arrived:
            if isinstance(item, CommandCloseConsumer) and item.consumer_id == consumer_id:
                self.arrived.remove(item)
                return True
        return False

    def receive(self, deadline: float, *, gather: int = 0) -> bool:
        """Reads once and stores the frames. False if nothing arrived until `deadline` (monotonic seconds).

        With `gather`, reads on until about that many bytes have arrived, or no more do soon.

        Raises `ConnectionLost`, `CannotConnect`, or the broker's error.
        """
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            return False
        try:
            self._socket.settimeout(remaining)
            gathers = gather and self.decoder.buffered < CHUNK_BYTES  # a large frame is joined once, at its end
            chunk = self._gathered(gather) if gathers else self._socket.recv(CHUNK_BYTES)
            items = self.decoder.feed(chunk) if isinstance(chunk, bytes) else self.decoder.feed_gathered(chunk)
        except TimeoutError:
            return False
        except OSError as error:
            raise self._ended(error, f"lost the connection to {self.url}: {error}") from error
        except ProtocolError as error:
            self.close()
            if self.connected is None and is_web_server(bytes(chunk)):
                raise CannotConnect(f"cannot connect to {self.url}: {WEB_SERVER_ANSWERED}") from error
            raise CannotConnect(f"{self.url} does not speak Pulsar's binary protocol: {error}") from error
        if not chunk:
            raise self._ended(ConnectionResetError(), f"the broker at {self.url} closed the connection")
        for item in items:
            if isinstance(item, MessageFrame | MessageRun):
                self.arrived.append(item)
            elif isinstance(item, Command):
                self._file(item)
        return True

    def gather_messages(self, gatherer: MessageGatherer) -> None:
        """From now on, entries may arrive in runs (`MessageRun`)."""
        self.decoder.gather_messages(gatherer)

    def _gathered(self, size_wanted: int) -> bytearray:
        """The incomplete frame, and the bytes after it: `size_wanted` bytes together, or fewer after a silence.

        Empty at the end.

        To take entries apart costs much less for each if they are many, and if nothing is copied first.
        """
        incomplete = self.decoder.rest
        buffer = bytearray(len(incomplete) + max(size_wanted, CHUNK_BYTES))
        buffer[: len(incomplete)] = incomplete
        with memoryview(buffer) as free:
            size = self._fill(free[len(incomplete) :], size_wanted - len(incomplete))
        del buffer[len(incomplete) + size if size else 0 :]
        return buffer

    def _fill(self, free: memoryview, size_wanted: int) -> int:
        """Waits for the first bytes as long as the socket does, and for more only briefly."""
        size = count = self._socket.recv_into(free)
        until = time.monotonic() + GATHER_SECONDS
        while count and size < size_wanted and (remaining := until - time.monotonic()) > 0:
            self._socket.settimeout(min(remaining, SILENCE_SECONDS))
            try:
                count = self._socket.recv_into(free[size:])
            except TimeoutError:
                break
            size += count
        return size

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def _shake_hands(self, broker: Address | None, deadline: float) -> None:
        method = self._authentication.method
        self.send(
            client_commands.connect(
                "pulsarctl",
                protocol_version=PROTOCOL_VERSION,
                auth_method_name=method or None,
                auth_data=self._authentication.data() if method else None,
                supports_broker_entry_metadata=True,
                supports_auth_refresh=True,
                proxy_to_broker_url=str(broker) if broker else None,
            )
        )
        while self.connected is None:
            if not self.receive(deadline):
                raise TimedOut(f"{self.url} did not answer CONNECT; is this the port of the binary protocol?")

    def refusal(self, error: CommandError) -> CliError:
        self.close()
        if error.error == ServerError.AuthenticationError:
            return not_accepted(self.url, self._authentication)
        return refusal(error.error, error.message, self.url)

    def _ended(self, error: OSError, reason: str) -> CliError:
        """The error for a connection that the broker ended, instead of CONNECTED or later."""
        lost = self._lost(reason)
        return (self._channel.refused(self.url, error) if self.connected is None else None) or lost

    def _lost(self, reason: str) -> ConnectionLost:
        self.is_lost = True
        self.close()
        return ConnectionLost(reason, request=self.url)

    def _file(self, command: Command) -> None:
        if self.answers(command):
            return
        if command.type in UNASKED:
            self.arrived.append(command.message)
        elif hasattr(command.message, "request_id"):
            self._replies[command.message.request_id] = command.message


def refusal(error: int, message: str, tried: str) -> CliError:
    """Our error for the broker's ServerError. `tried` names the request and the broker."""
    reason = reason_of(error, message)
    kind, hint = ERROR_OF_REFUSAL.get(error, CliError), _listing(tried) if error == ServerError.TopicNotFound else None
    return kind(f"{tried}: {reason}", hint=hint, reason=message or reason, request=tried)


def _listing(tried: str) -> str:
    noun = "scalable-topics" if tried.startswith("topic://") else "topics"
    return f"check the name; 'pulsarctl {noun} list NAMESPACE' shows what exists"
