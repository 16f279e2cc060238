"""A consumer attached to a subscription: permits, messages not yet acknowledged, and `deliver`.

Permits count messages, not entries: a batch larger than what is left is sent whole and drives the permits
below zero, to be repaid by later FLOWs (Pulsar binary protocol, "Flow control").
Where acknowledgement is individual, `pending` knows every entry that this consumer has and did not acknowledge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from broker_core.client_log import ClientLog
from broker_core.dispatch.hash_ranges import AUTO_SPLIT, KeySharedMode
from broker_core.dispatch.pending import Pending
from broker_core.dispatch.stamped_block import StampedBlock
from broker_core.rates.rate import Rate
from broker_core.storage.errors import StorageError
from broker_core.storage.records.open_batches import words_of
from broker_core.wire import commands
from broker_core.wire.encode import MessageEncoder

if TYPE_CHECKING:
    from broker_core.client import Client
    from broker_core.clock import Clock
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.records.block import Block

log = ClientLog(__name__)

PERMITS_MAX = (1 << 31) - 1  # the Java client reads an int from the statistics
ACTIVE_CONSUMER_VERSION = 12  # of the protocol, from which clients understand ACTIVE_CONSUMER_CHANGE


class ConsumerOwner(Protocol):
    """The subscription of a consumer, as the consumer calls it."""

    clock: Clock
    cursor: ManagedCursor

    @property
    def partition(self) -> int:
        """The partition number of the topic; -1 if it is not a partition."""

    @property
    def served_at(self) -> str:
        """Once the topic is closed: the broker that serves it next; "" if unknown."""

    def flowed(self, consumer: Consumer, *, first: bool) -> None:
        """The consumer asks for messages, perhaps for the first time."""

    def wake(self) -> None:
        """The consumer may be able to take more messages."""

    def remove_consumer(self, consumer: Consumer) -> bool:
        """Makes its pending messages available to others; False if it is not one of the consumers."""

    async def flush(self) -> None:
        """Syncs the acknowledgments of a consumer that has left."""


class Consumer:
    def __init__(
        self,
        client: Client,
        owner: ConsumerOwner,
        consumer_id: int,
        name: str,
        *,
        priority: int,
        read_compacted: bool,
        metadata: dict[str, str],
        auto_consume: bool = False,
        key_shared: KeySharedMode = AUTO_SPLIT,
    ) -> None:
        self.client = client
        self._owner = owner
        self.consumer_id = consumer_id
        self.name = name
        self.priority = priority
        self.read_compacted = read_compacted
        self.metadata = metadata
        self.auto_consume = auto_consume  # it reads any schema and has none itself
        self.key_shared = key_shared
        self.epoch: int | None = None
        self.connected_since_ms = owner.clock.wall_ms()
        self.rate = Rate(owner.clock)
        self.redeliveries = Rate(owner.clock)
        self.acks = Rate(owner.clock)
        self.delivered_entries = 0
        self.permits = 0
        self.last_flow_ms = 0
        self.last_consumed_ms = 0
        self.last_acked_ms = 0
        self.blocked = False  # by unacknowledged messages, until half of them are acknowledged
        self.pending = Pending()
        self.closed = False
        self.acknowledges_cumulatively = False  # it has done so since it connected
        self.held_up_to_by = 0  # the last transaction in which it has, since it got messages again
        self._takes_metadata = client.takes_broker_metadata
        self._encoder = MessageEncoder(consumer_id, owner.partition)

    @property
    def writable(self) -> bool:
        return self.client.outbound.writable

    @property
    def unacked_messages(self) -> int:
        return self.pending.messages

    def flow(self, permits: int) -> None:
        self.permits = min(self.permits + permits, PERMITS_MAX)
        first, self.last_flow_ms = not self.last_flow_ms, self._owner.clock.wall_ms()
        self._owner.flowed(self, first=first)

    def on_writable(self) -> None:
        """The socket drained, so the consumer may be able to take more."""
        self._owner.wake()

    def deliver(self, block: Block, first: int, last: int, redeliveries: Sequence[int] | None = None) -> int:
        """Sends entries `first` .. `last` - 1 of the block as they were stored; returns their messages."""
        messages = sum(block.counts[first:last])
        if self._owner.cursor.has_partly_open:
            frames = self._encode_partly(block, first, last, redeliveries)
        else:
            frames = self._encode(block, first, last, redeliveries)
            self.permits -= messages
        self.rate.add(messages, block.ends[last - 1] - block.starts[first])
        self.delivered_entries += last - first
        self.last_consumed_ms = self._owner.clock.wall_ms()
        self.client.outbound.send(frames)
        return messages

    def _encode(self, block: Block, first: int, last: int, redeliveries: Sequence[int] | None) -> bytes:
        first_entry_id = block.first_entry_id + first
        if self._takes_metadata and isinstance(block, StampedBlock):
            entries = block.stamped_entries(first, last)
            return self._encoder.encode(block.ledger_id, first_entry_id, *entries, redeliveries)
        starts, ends = block.starts[first:last], block.ends[first:last]
        return self._encoder.encode(block.ledger_id, first_entry_id, block.data, starts, ends, redeliveries)

    def _entry(self, block: Block, row: int) -> bytes:
        if self._takes_metadata and isinstance(block, StampedBlock):
            return block.stamped_entry(row)
        return block.entry(row)

    def _encode_partly(self, block: Block, first: int, last: int, redeliveries: Sequence[int] | None) -> bytes:
        """Like `_encode`, but entries with acknowledged messages name these, and cost fewer permits."""
        counts = redeliveries or [0] * (last - first)
        frames = []
        start = first
        cursor, first_entry_id = self._owner.cursor, block.first_entry_id + first
        for entry_id, batch in cursor.partly_open(block.ledger_id, first_entry_id, block.counts[first:last]):
            row = entry_id - block.first_entry_id
            if start < row:
                frames.append(self._encode(block, start, row, counts[start - first : row - first]))
            frames.append(
                self._encoder.encode_one(
                    block.ledger_id,
                    entry_id,
                    self._entry(block, row),
                    redelivery_count=counts[row - first],
                    ack_set=words_of(batch.bits),
                )
            )
            self.permits += block.counts[row] - batch.open
            start = row + 1
        if start < last:
            frames.append(self._encode(block, start, last, counts[start - first :]))
        self.permits -= sum(block.counts[first:last])
        return b"".join(frames)

    def remember(self, block: Block, first: int, last: int) -> None:
        """Records the entries as pending at this consumer."""
        first_entry_id = block.first_entry_id + first
        self.pending.add(block.ledger_id, first_entry_id, block.counts[first:last])
        cursor = self._owner.cursor
        if cursor.has_partly_open:
            for entry_id, batch in cursor.partly_open(block.ledger_id, first_entry_id, block.counts[first:last]):
                acknowledged = block.counts[entry_id - block.first_entry_id] - batch.open
                self.pending.reduce(block.ledger_id, entry_id, acknowledged)

    def forget(self, ledger_id: int, entry_id: int) -> bool:
        """Removes an entry from `pending`; False if this consumer did not have it."""
        return self.pending.discard(ledger_id, entry_id) > 0

    def forget_all(self, ledger_id: int, entry_ids: Sequence[int]) -> list[int]:
        """Removes entries of one ledger from `pending`; returns those that this consumer did not have."""
        return self.pending.discard_all(ledger_id, entry_ids)

    def use_epoch(self, epoch: int) -> None:
        """Sends the client's epoch with all later messages, unless it is older than the last one (PIP-84)."""
        if self.epoch is None or epoch > self.epoch:
            self.epoch = epoch
            self._encoder.use_epoch(epoch)

    def tell_active(self, is_active: bool) -> None:
        """Tells the client, with Failover, whether this is the consumer that gets the messages."""
        if self.client.protocol_version >= ACTIVE_CONSUMER_VERSION:
            self.client.outbound.send(commands.active_consumer_change(self.consumer_id, is_active))

    async def close(self) -> None:
        """Ends the consumer of a client that is gone. Its acknowledgments are synced on return."""
        if self.leave():
            await self.flush()

    def leave(self) -> bool:
        """Makes its pending messages available again; False if it has left before. `flush` follows."""
        if self.closed:
            return False
        self.closed = True
        return self._owner.remove_consumer(self)

    async def flush(self) -> None:
        await self._owner.flush()

    async def redirect(self, service_url: str, service_url_tls: str) -> None:
        """The broker closes this consumer; its client subscribes in another cluster, or again and learns why not."""
        if self.client.follows_to(service_url, service_url_tls):
            moved = commands.topic_migrated(self.consumer_id, service_url, service_url_tls, is_consumer=True)
            self.client.outbound.send(moved)
        await self.disconnect()

    async def disconnect(self) -> None:
        """The broker closes this consumer; its client subscribes again."""
        self.client.forget_consumer(self.consumer_id)
        served_at = self.client.hint(self._owner.served_at)
        self.client.outbound.send(commands.close_consumer(self.consumer_id, served_at=served_at))
        try:
            await self.close()
        except StorageError as error:  # they stay in memory and are written with the next ones
            log.warning(self.client.host, "", "consumer %s: its acknowledgments are not synced: %s", self.name, error)
