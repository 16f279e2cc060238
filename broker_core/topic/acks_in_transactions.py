"""Acknowledgments in transactions on one subscription: held until the transaction ends, then carried out or undone.

As in Pulsar (`PendingAckHandleImpl`), a message that is acknowledged, or that any transaction holds, cannot be
acknowledged in a transaction: the whole ACK is refused, and none of its messages is held. An acknowledgment outside
transactions always counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from broker_core.errors import NotAllowed, PersistenceFailed, TransactionConflict
from broker_core.rates.time_slices import sliced
from broker_core.storage.records.held_acks import WHOLE, AckedUpTo, TransactionAcks
from broker_core.storage.records.open_batches import OpenBatch
from broker_core.storage.records.position import Position
from broker_core.topic.subscription_type import INDIVIDUAL_ACK_TYPES

if TYPE_CHECKING:
    from broker_core.dispatch.consumer import Consumer
    from broker_core.names import TopicName
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.topic.delivery import Delivery
    from broker_core.transactions.coordinator import Coordinator
    from broker_core.wire.transaction_id import TransactionId


Stored = asyncio.Future[Exception | None]
IDS_MAX = 2_500  # in one ACK; the broker checks and writes them in one step


def check_count(ids: int) -> None:
    """Raises `NotAllowed` if an ACK names more messages than that."""
    if ids > IDS_MAX:
        raise NotAllowed(f"an acknowledgment in a transaction names at most {IDS_MAX} messages, not {ids}")


class AcksInTransactions:
    __slots__ = ("_check_acknowledgeable", "_coordinator", "_cursor", "_delivery", "_topic")

    def __init__(
        self,
        topic: TopicName,
        cursor: ManagedCursor,
        delivery: Delivery,
        coordinator: Coordinator | None,
        check_acknowledgeable: Callable[[], None],
    ) -> None:
        self._topic = topic
        self._cursor = cursor
        self._delivery = delivery
        self._coordinator = coordinator
        self._check_acknowledgeable = check_acknowledgeable

    async def hold(self, consumer: Consumer, transaction: TransactionId, ids: Sequence[tuple[Position, int]]) -> None:
        """Holds messages; on disk on return. `ids`: entries, and a bit set of the messages in each that stay open.

        As outside transactions, entries that do not exist are ignored. Raises `TransactionConflict`, `NotAllowed`,
        `InvalidTransactionStatus`, or what `check_acknowledgeable` does, and then nothing is held; or
        `PersistenceFailed`, and then the messages stay held until the transaction ends, as in Pulsar.
        """
        coordinator = self._supported()
        sized = [(position, await self._left(position, open_bits)) async for position, open_bits in sliced(ids)]
        acks = TransactionAcks()
        for position, left in sized:
            if self._cursor.has_entry(position):
                self._check_free(transaction, position, left, acks)
                acks.add(*position, left)
        stored = self._store(coordinator, transaction, acks)
        async for position, left in sliced(sized):
            self._no_longer_pending(consumer, position, left)
        await _raised(stored)

    async def hold_up_to(
        self, consumer: Consumer, transaction: TransactionId, position: Position, open_bits: int
    ) -> None:
        """As `hold`, everything up to a position. Ignored where acknowledgments are individual, as in Pulsar."""
        coordinator = self._supported()
        if self._delivery.sub_type in INDIVIDUAL_ACK_TYPES:
            return
        last = self._cursor.last_entry_up_to(position)  # what is published later is not part of it
        up_to = AckedUpTo(last, await self._left(last, open_bits) if last == position else WHOLE)
        self._check_cumulative(transaction, up_to)
        acks = TransactionAcks()
        acks.add_up_to(up_to)
        stored = self._store(coordinator, transaction, acks)
        consumer.acknowledges_cumulatively = True
        consumer.held_up_to_by = transaction.least
        await _raised(stored)

    def _supported(self) -> Coordinator:
        if self._coordinator is None:
            raise NotAllowed("Server don't support transaction ack!")  # Pulsar's words
        if not self._cursor.durable:
            raise NotAllowed(f"Subscription {self._cursor.name} is not durable, and has no transactions")
        return self._coordinator

    async def _left(self, position: Position, open_bits: int) -> OpenBatch:
        if not open_bits:
            return WHOLE
        messages = await self._cursor.read_messages_of(position)  # the client may name another size
        return OpenBatch(messages, open_bits & (1 << messages) - 1)

    def _check_free(
        self, transaction: TransactionId, position: Position, left: OpenBatch, acks: TransactionAcks
    ) -> None:
        wanted = left.acknowledged_bits
        if self._cursor.acknowledged_bits(position) & wanted:
            raise self._conflict(transaction, f"message:{position} already acked before.")
        held = self._cursor.info.held
        if held is not None and held.individual(*position) & wanted:
            raise self._conflict(transaction, f"message:{position} in pending ack status.")
        same_ack = acks.entries.get(position.ledger_id, {}).get(position.entry_id)
        if same_ack is not None and same_ack.acknowledged_bits & wanted:
            raise self._conflict(transaction, f"message:{position} in pending ack status.")

    def _check_cumulative(self, transaction: TransactionId, up_to: AckedUpTo) -> None:
        if up_to.position <= self._cursor.mark_delete or up_to.position.entry_id < 0:
            marked = f"cursor's markDeletePosition:{self._cursor.mark_delete}"
            raise self._conflict(transaction, f"cumulative ack position:{up_to.position} within range of {marked}")
        held = self._cursor.info.held
        if held is None or held.cumulative is None:
            return
        if held.holder != transaction.least:
            raise self._conflict(transaction, "cumulative ack message while another transaction has acked cumulatively")
        if not up_to.is_after(held.cumulative):
            current = f"current currentPosition:{held.cumulative.position}"
            raise self._conflict(transaction, f"cumulative ack position:{up_to.position} within range of {current}")

    def _conflict(self, transaction: TransactionId, reason: str) -> TransactionConflict:
        name = f"[{self._topic}][{self._cursor.name}]"
        return TransactionConflict(f"{name} Transaction:{transaction} try to ack {reason}")

    def _store(self, coordinator: Coordinator, transaction: TransactionId, acks: TransactionAcks) -> Stored:
        """The result is there when the record is on disk, or could not be written."""
        self._check_acknowledgeable()  # the topic may have begun to move during an await
        stored: Stored = asyncio.get_running_loop().create_future()

        def done(error: Exception | None) -> None:
            if not stored.done():  # else the client has left
                stored.set_result(error)

        coordinator.hold(transaction, self._cursor, acks, done)
        return stored

    def _no_longer_pending(self, consumer: Consumer, position: Position, left: OpenBatch) -> None:
        """Held messages do not count as unacknowledged, and are not sent again."""
        if self._cursor.is_open(position, left.messages):
            self._delivery.reduce_pending(consumer, position, left.acknowledged_bits.bit_count())
        else:
            self._delivery.dispatcher.acknowledged(consumer, position.ledger_id, [position.entry_id])

    def state_of(self, position: Position, bits: int) -> str:
        """Pulsar's state of messages of an entry (PositionInPendingAckStats)."""
        held = self._cursor.info.held
        if self._cursor.is_acknowledged(position):
            return "MarkDelete"
        if held is not None and held.individual(*position) & bits:
            return "PendingAck"
        return "NotInPendingAck" if self._cursor.has_entry(position) else "InvalidPosition"

    def released(self, transaction: TransactionId, acks: TransactionAcks) -> None:
        """The transaction is aborted: its messages are sent again.

        As in Pulsar, those of a cumulative acknowledgment wait until a consumer connects or asks for them. One that has
        done so in the meantime did not get them, so it gets them now.
        """
        consumer = self._delivery.dispatcher.active_consumer
        if acks.cumulative is not None and consumer is not None and consumer.held_up_to_by != transaction.least:
            self._delivery.dispatcher.rewind()
        entries = [(ledger_id, entry_id) for ledger_id, entry_id, _ in acks]
        again = [entry for entry in entries if Position(*entry) < self._cursor.read_position]
        again = [entry for entry in again if not self._cursor.is_acknowledged(Position(*entry))]
        if again:
            self._delivery.dispatcher.released(again)


async def _raised(stored: Stored) -> None:
    """Raises `PersistenceFailed`."""
    error = await stored
    if error is not None:
        raise PersistenceFailed(str(error))
