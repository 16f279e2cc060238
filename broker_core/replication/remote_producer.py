"""The producer of a replicator on a topic of another cluster: what it has sent, and what was confirmed.

Receipts come in the order of the SENDs. With a broker that tells copies apart by their source positions, a receipt
names the position of the copy in this cluster, or that it is a marker; otherwise it repeats the sequence ID
(docs/how-to/geo-replication.md "Receipts"). A receipt that fits neither the next copy nor an earlier one means that
the two sides disagree about what was stored: the connection is given up, and everything that is not confirmed is sent
again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from broker_core.publishing.replication import OF_A_MARKER
from broker_core.replication.errors import CannotReplicate
from broker_core.storage.records.position import EARLIEST, Position
from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import CommandProducerSuccess

if TYPE_CHECKING:
    from broker_core.replication.connection import RemoteConnection
    from broker_core.replication.copies import Copy
    from broker_core.wire.pulsar_api_pb2 import CommandSendError, CommandSendReceipt, Schema

Confirmed = Callable[[list["Copy"]], None]


class RemoteProducer:
    """`confirmed` gets the copies that the other cluster has stored, in order; `woken` is called when it fails."""

    def __init__(
        self,
        connection: RemoteConnection,
        confirmed: Confirmed,
        woken: Callable[[], None],
        *,
        is_persistent: bool = True,
    ) -> None:
        self.connection = connection
        self.names_positions = is_persistent and connection.names_source_positions
        self.producer_id = connection.new_producer_id()
        self.failure: CannotReplicate | None = None
        self.refused_at: Position | None = None
        """The entry that the other cluster refused to store."""
        self._confirmed = confirmed
        self._woken = woken
        self._pending: deque[Copy] = deque()
        self._settled: list[Copy] = []
        self._last = EARLIEST  # the source position that was confirmed last

    async def attach(self, topic: str, name: str, *, encrypted: bool, schema: Schema | None) -> None:
        """Raises `CannotReplicate`."""
        self.connection.attach(self.producer_id, self)
        await self.connection.request(
            lambda request_id: client_commands.producer(
                request_id, topic, self.producer_id, name, encrypted=encrypted, schema=schema
            ),
            CommandProducerSuccess,
            f"create a producer on {topic} at {self.connection.url}",
        )

    @property
    def in_flight(self) -> int:
        return len(self._pending)

    async def send(self, copies: Sequence[Copy]) -> None:
        """Call it with the connection's `writing` held. Raises `ConnectionLost`."""
        self._pending.extend(copies)
        await self.connection.write(b"".join([copy.frame for copy in copies]))

    def check(self) -> None:
        """Raises why no more can be sent."""
        if self.failure is not None:
            raise self.failure

    def close(self) -> None:
        self.connection.detach(self.producer_id)

    # -- from the connection ----------------------------------------------------------------------------

    def received(self, receipt: CommandSendReceipt) -> None:
        if not self._pending or self.failure is not None:
            return
        head = self._pending[0]
        if self.names_positions:
            position = Position(receipt.sequence_id, receipt.highest_sequence_id)
            if position.entry_id != OF_A_MARKER and position <= self._last:
                return  # repeated
            expected: object = head.position if head.messages else Position(head.sequence_id, OF_A_MARKER)
            got: object = position
        else:
            expected, got = head.sequence_id, receipt.sequence_id
        if expected != got:
            self.connection.close(f"{self.connection.url} confirmed {got} and not {expected}")
            return
        copy = self._pending.popleft()
        self._last = copy.position
        self._settled.append(copy)

    def settle(self) -> None:
        settled, self._settled = self._settled, []
        if settled:
            self._confirmed(settled)

    def refused(self, error: CommandSendError) -> None:
        if self._pending and self.refused_at is None:
            self.refused_at = self._pending[0].position
        self.failed(CannotReplicate(f"{self.connection.url} refused a message: {error.message or error.error}"))

    def failed(self, error: CannotReplicate) -> None:
        if self.failure is None:
            self.settle()
            self.failure = error
            self._woken()
