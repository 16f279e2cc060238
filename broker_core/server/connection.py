"""One client: bytes in, commands to their handlers, answers and messages out.

`command_table` has a row for each command. A handler returns its answer (bytes), nothing, or a coroutine that
will; this file alone sends, and alone turns a `BrokerError` into the error that the command's client expects.
A `ProtocolViolation` closes the connection without an answer, as in Pulsar.

Order: receipts and messages of one producer or consumer leave in the order in which they were handed to
`send`; answers to different requests may overtake one another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from broker_core.client_log import ClientLog
from broker_core.config.descriptors import descriptor_of
from broker_core.errors import (
    BrokerError,
    NotAllowed,
    PersistenceFailed,
    ProtocolViolation,
    TooManyRequests,
    TopicFenced,
)
from broker_core.limits.incomplete_frames import COUNTED_FROM
from broker_core.security.peer_certificate import peer_certificate
from broker_core.security.unauthenticated import TOO_MANY, UnauthenticatedConnection
from broker_core.server.backpressure import ReadGate
from broker_core.server.command_table import COMMANDS, SECURED_COMMANDS, Row, error_of_request
from broker_core.server.disconnected import Disconnected
from broker_core.server.handlers import publish
from broker_core.server.liveness import Liveness
from broker_core.server.session import Session, SessionState
from broker_core.server.shares import shares
from broker_core.storage.errors import Closed, StorageError
from broker_core.tasks import close_with
from broker_core.wire import commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.errors import ProtocolError
from broker_core.wire.frame import Command, FrameDecoder
from broker_core.wire.send import SendRun, SingleSend

if TYPE_CHECKING:
    from broker_core.broker import Broker

log = ClientLog(__name__)

UNSENT_BUFFERS = 4  # write buffers of answers that may wait for a client that does not read
UNAUTHENTICATED_FRAME = 64 * 1024  # a token has a few KiB
ITEMS_AT_ONCE = 200  # commands, or runs of SENDs, in one iteration of the loop; 1,000 lookups take 60 ms
FRAME_PADDING = 10 * 1024  # how much longer than the largest message a frame may be (as in Pulsar)


class Connection(asyncio.Protocol):
    session: Session
    _gate: ReadGate
    publish_started: Callable[[int], None]
    publish_finished: Callable[[int], None]

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._config = broker.config.connection
        self._loop = asyncio.get_running_loop()
        self._frame_max = self._config.max_message_size + FRAME_PADDING
        self._decoder = FrameDecoder(self._frame_max, broker.command_bounds, ITEMS_AT_ONCE)
        self._rows = COMMANDS if broker.security.authorization is None else SECURED_COMMANDS
        self._unauthenticated: UnauthenticatedConnection | None = None  # None after the client has authenticated
        self._outgoing: list[bytes] = []
        self._outgoing_bytes = 0
        self._unsent = broker.unsent
        self._flush_due = False
        self._holds_much = False  # whether an unfinished frame counts against the limit
        self._tasks: set[asyncio.Task[None]] = set()
        self.writable = True  # a plain attribute: each step of a dispatcher asks
        self._liveness = Liveness(
            self,
            self._config.keep_alive_seconds,
            lambda: self.session.state is SessionState.READY,
            lambda: self._gate.excuses_silence,
        )
        self._released = asyncio.Event()

    # -- life --------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport) or hasattr(transport, "pause_reading")
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]  # uvloop's is not a subclass
        host, port = (transport.get_extra_info("peername") or ("gone", 0))[:2]  # None: the client has already left
        self.session = Session(self._broker, self, f"/{host}:{port}")
        self.session.listener = self._broker.listener_at(transport.get_extra_info("sockname"))
        self._gate = ReadGate(
            self._transport,
            self._broker.storage.pressure,
            self._config.max_pending_publishes,
            UNSENT_BUFFERS * self._config.write_buffer_bytes,
        )
        # Bound here, so that the hot path makes one call.
        self.publish_started, self.publish_finished = self._gate.started, self._gate.finished
        self._transport.set_write_buffer_limits(high=self._config.write_buffer_bytes)
        refused = self._broker.admit(self)
        if refused:
            self._refuse_and_close(refused)
            return
        if self._broker.security.authentication is not None and not self._expect_authentication():
            self._refuse_and_close(TOO_MANY)
            return
        self._liveness.start()

    def _expect_authentication(self) -> bool:
        """A client that has not proved who it is gets little memory and little time; False if it gets none."""
        self._unauthenticated = self._broker.security.unauthenticated.admit(self.host, self.give_up)
        self._decoder.frame_size_max = min(self._frame_max, UNAUTHENTICATED_FRAME)
        return self._unauthenticated is not None

    def authenticated(self) -> None:
        """The client has proved who it is, or is gone."""
        if self._unauthenticated is not None:
            self._unauthenticated.leave()
            self._unauthenticated = None
            self._decoder.frame_size_max = self._frame_max

    def _refuse_and_close(self, reason: str) -> None:
        log.warning(self.host, "", "refusing a connection of %s: %s", self.session.address, reason)
        self._transport.write(commands.error(commands.BROKER_REQUEST_ID, NotAllowed.server_error, reason))
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.session.become(SessionState.CLOSED)
        self.authenticated()
        self._gate.close()
        if self._holds_much:
            self._broker.incomplete_frames.holds(self, 0, began=False)
        self._liveness.stop()
        # Nothing refers back to the connection, so that its memory does not wait for the garbage collector.
        del self._liveness
        self._broker.spawn(self._release())

    async def _release(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        try:
            await self.session.release()
        finally:
            self._broker.left(self)
            self.session.outbound = Disconnected()
            self._released.set()

    @property
    def host(self) -> str:
        return self.session.host

    @property
    def descriptor(self) -> int:
        return descriptor_of(self._transport)

    @property
    def is_tls(self) -> bool:
        return self._transport.get_extra_info("ssl_object") is not None

    @property
    def certificate(self) -> bytes:
        """The client's certificate in DER form, verified by TLS; empty without one."""
        return peer_certificate(self._transport)

    def permissions_changed(self) -> None:
        self._spawn(self.session.permissions_changed())

    def close(self) -> None:
        """Sends queued data, then closes."""
        self._write_out()
        self._transport.close()

    async def closed(self) -> None:
        await self._released.wait()

    # -- in ----------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self._liveness.heard = True
        if self._liveness.listening:
            self._liveness.answer(alive=True)
        broken: str | None = None
        try:
            items: Sequence[Any] = self._decoder.feed(data)
        except ProtocolError as error:
            items, broken = error.items, str(error)  # frames before the broken one are valid
        if len(items) <= ITEMS_AT_ONCE and not self._decoder.more and not self._decoder.divisible:
            self._take(items, broken)
        else:
            self.hold_reading()
            waiting = shares(items) if self._decoder.divisible else iter((items,))
            self._take_in_shares(next(waiting, ()), waiting, broken)
        held = 0 if self._decoder.more else self._decoder.buffered
        if held > COUNTED_FROM or self._holds_much:
            self._holds_much = self._broker.incomplete_frames.holds(self, held, began=bool(items))

    def _take_in_shares(self, share: Sequence[Any], waiting: Iterator[Sequence[Any]], broken: str | None) -> None:
        """Handle the items of one read, a share in each iteration of the loop, without another read in between."""
        if self._transport.is_closing():
            return
        following = next(waiting, None)
        self._take(share, broken if following is None else None)
        if following is not None:
            self._loop.call_soon(self._take_in_shares, following, waiting, broken)
        elif self._decoder.more:
            self._loop.call_soon(self._take_more)
        else:
            self.release_reading()

    def _take_more(self) -> None:
        if not self._transport.is_closing():
            self.data_received(b"")  # it pauses again if there is still more
            self.release_reading()

    def _take(self, items: Sequence[Any], broken: str | None) -> None:
        try:
            sends = 0
            for item in items:
                if type(item) is SendRun:
                    sends += len(item.starts)
                    publish.on_run(self.session, item)
                else:
                    self._on_item(item)
            if broken is not None:
                raise ProtocolViolation(broken)
        except ProtocolViolation as error:
            self._violated(error)
            return
        self._gate.after_chunk(sends)

    def _on_item(self, item: object) -> None:
        if isinstance(item, Command):
            self._on_command(item)
        elif isinstance(item, SingleSend):
            publish.on_single_send(self.session, item)
        else:
            raise ProtocolViolation("a client does not send MESSAGE")

    def _on_command(self, command: Command) -> None:
        self.session.check_accepts(command.type)
        if self.session.refusal is not None:
            self._answer_error(command, self.session.refusal)
            self.close()
            return
        if command.flaw is not None:
            self._refuse(command, *command.flaw)
            return
        row = self._rows.get(command.type)
        if row is None:
            self._answer_error(command, NotAllowed(f"{_name(command)} is not supported by this broker"))
        elif row.bounded and len(self._tasks) >= self._config.max_lookups:
            self._answer_error(command, TooManyRequests(f"more than {self._config.max_lookups} requests in flight"))
        else:
            self._carry_out(command, row)

    def _carry_out(self, command: Command, row: Row) -> None:
        try:
            answer = row.handle(self.session, command.message)
        except BrokerError as error:
            self._answer_error(command, error)
            return
        if asyncio.iscoroutine(answer):
            task = self._spawn(self._answer_later(command, answer))
            close_with(task, answer)
            if row.large:
                self._gate.asked()
                task.add_done_callback(self._gate.answered)
        elif answer is not None:
            self.send(answer)

    async def _answer_later(self, command: Command, answer: Coroutine[Any, Any, bytes | None]) -> None:
        try:
            frames = await answer
        except BrokerError as error:
            self._answer_error(command, error)
        except Closed as error:  # the topic was unloaded in the meantime
            self._answer_error(command, TopicFenced(f"{error}; try again"))
        except StorageError as error:
            self._answer_error(command, PersistenceFailed(str(error)))
        except Exception as error:  # a client must not wait for an answer that never comes
            log.exception(self.session.host, "", "a command of %s failed: %s", self.session.address, _name(command))
            self._answer_error(command, BrokerError(f"{type(error).__name__}: {error}"))
        else:
            if frames is not None:
                self.send(frames)

    def _answer_error(self, command: Command, error: BrokerError) -> None:
        if error.closes_connection:
            self._violated(error)
        else:
            self._refuse(command, error.server_error, error.reason)

    def _refuse(self, command: Command, server_error: int, reason: str) -> None:
        """Answers a command with an error. Without a request ID to answer, closes the connection."""
        row = COMMANDS.get(command.type)
        failed = error_of_request if row is None else row.failed
        if failed is error_of_request and not _has_request_id(command.message):
            self._violated(ProtocolViolation(f"{_name(command)}: {reason}"))
            return
        self.send(failed(command.message, server_error, reason))

    def _violated(self, error: Exception) -> None:
        if not self.session.is_closed:
            log.info(self.session.host, "", "closing the connection of %s: %s", self.session.address, error)
        self._transport.abort()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task: asyncio.Task[None] = self._broker.spawn(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- out ---------------------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Queues complete frames; those of one iteration of the loop, or of one synced group, are one write."""
        self._outgoing.append(data)
        self._outgoing_bytes += len(data)
        if self._outgoing_bytes >= self._config.write_buffer_bytes:
            self._write_out()  # at once, so that `writable` tells the truth to a dispatcher in its loop
        elif not self._flush_due:
            self._flush_due = True
            self._unsent.add(self._write_out)

    def _write_out(self) -> None:
        self._flush_due = False
        outgoing, self._outgoing, self._outgoing_bytes = self._outgoing, [], 0
        if outgoing and not self._transport.is_closing():
            self._transport.write(outgoing[0] if len(outgoing) == 1 else b"".join(outgoing))

    def pause_writing(self) -> None:
        self.writable = False

    def resume_writing(self) -> None:
        self.writable = True
        self._gate.drained()
        self.session.on_writable()

    @property
    def is_held(self) -> bool:
        return self._gate.is_paused

    @property
    def requests(self) -> int:
        return len(self._tasks)

    def hold_reading(self) -> None:
        self._gate.hold()

    def release_reading(self) -> None:
        self._gate.release()

    def give_up(self, reason: str) -> None:
        self._violated(ProtocolViolation(reason))

    async def is_alive(self) -> bool:
        """Sends a PING. Disconnects a peer that is silent for the liveness timeout, which frees its names."""
        timeout = self._config.liveness_timeout_ms / 1000
        if timeout <= 0:
            return True
        if not self.session.is_closed and await self._liveness.ask(timeout):
            return True
        await self.closed()
        return False


def _has_request_id(message: Any) -> bool:
    return "request_id" in message.DESCRIPTOR.fields_by_name and message.HasField("request_id")


def _name(command: Command) -> str:
    return pb.BaseCommand.Type.Name(command.type)  # type: ignore[arg-type]  # enum values are ints here
