"""Key_Shared: one consumer at a time has a key, and gets its messages in order.

`HashRanges` says which consumer owns the hash of a key. The price of order (PIP-379): an entry waits while an earlier
entry of its hash waits, and while entries of its hash are unacknowledged at the previous owner. Other keys go on, so a
slow key or consumer does not delay them, until `keySharedLookAheadMsgInReplayThreshold...` entries wait and the broker
stops reading. With `allowOutOfOrderDelivery` no entry waits for its hash.
"""

from __future__ import annotations

from asyncio import TimerHandle
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from broker_core.dispatch.bucket_ranges import BucketRanges
from broker_core.dispatch.facts import DispatchFacts, DrainingHash, OwnedHashes
from broker_core.dispatch.hash_ranges import ConsistentRanges, HashRanges, SplitRanges, StickyRanges
from broker_core.dispatch.individual import IndividualDispatcher
from broker_core.dispatch.keys_in_flight import KeysInFlight
from broker_core.dispatch.redelivery import EntryId, EntrySet, Run
from broker_core.dispatch.waiting_keys import WaitingKeys

if TYPE_CHECKING:
    from broker_core.config.dispatch import DispatchConfig
    from broker_core.dispatch.allowance import Allowance
    from broker_core.dispatch.consumer import Consumer
    from broker_core.dispatch.context import DispatchContext
    from broker_core.dispatch.hash_ranges import KeySharedMode
    from broker_core.dispatch.reader import Source
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.records.block import Block
    from broker_core.storage.records.position import Position

READ_AT_LEAST = 64  # entries: most of what is read for one consumer's few permits belongs to others
READ_GAP = 16  # entries that are read for nothing, to save a second read


class Deliveries:
    """The messages that the consumers may get in one step, and the rows of a block that they get."""

    def __init__(self, allowance: Allowance) -> None:
        self.shares = allowance.shares
        self.left = allowance.messages
        self.rows: dict[Consumer, list[int]] = {}

    def give(self, consumer: Consumer, row: int, messages: int) -> bool:
        """False when the consumer can take no more."""
        share = self.shares.get(consumer, 0)
        if share <= 0 or self.left <= 0:
            return False
        self.shares[consumer] = share - messages
        self.left -= messages
        rows = self.rows.get(consumer)
        if rows is None:
            self.rows[consumer] = [row]
        else:
            rows.append(row)
        return True


class KeySharedDispatcher(IndividualDispatcher):
    def __init__(self, cursor: ManagedCursor, source: Source, context: DispatchContext, mode: KeySharedMode) -> None:
        super().__init__(cursor, source, context)
        self.mode = mode
        self.ranges: HashRanges[Consumer] = _ranges(mode, self.config)
        self.in_flight: KeysInFlight[Consumer] = KeysInFlight()
        self._waiting: WaitingKeys[Consumer] = WaitingKeys()
        self._due = EntrySet()
        self._unblocking: TimerHandle | None = None

    @property
    def waiting(self) -> int:
        return len(self._waiting) + len(self._due)

    # -- consumers come and go

    def conflicting_consumers(self, mode: KeySharedMode) -> list[Consumer]:
        if not self.mode.agrees_with(mode):
            return list(self.consumers)
        return self.ranges.conflicts(mode.ranges)

    def divides_keys_like(self, mode: KeySharedMode) -> bool:
        return self.mode.agrees_with(mode)

    def add(self, consumer: Consumer) -> None:
        """Raises `ConsumerAssignFailed` when no hashes are left for the consumer."""
        self.ranges.add(consumer, consumer.key_shared.ranges)
        super().add(consumer)
        self._waiting.reassign(self._may_have)

    def remove(self, consumer: Consumer) -> None:
        self.ranges.remove(consumer)
        super().remove(consumer)
        self._waiting.reassign(self._may_have)

    def close(self) -> None:
        super().close()
        if self._unblocking is not None:
            self._unblocking.cancel()

    # -- entries come back

    def due(self, entries: Iterable[EntryId]) -> None:
        self._due.add(entries)
        self.wake()

    def give_back(self, entries: Iterable[EntryId]) -> None:
        returned = []
        for entry in entries:
            sticky_hash = self._landed(*entry)
            if sticky_hash is not None:
                returned.append((entry, sticky_hash))
        for entry, sticky_hash in returned:
            self._waiting.add(entry, sticky_hash, self._may_have(sticky_hash))

    def no_longer_waiting(self, ledger_id: int, entry_ids: Sequence[int]) -> None:
        for entry_id in entry_ids:
            if self._landed(ledger_id, entry_id) is None and self.waiting:
                self._waiting.discard((ledger_id, entry_id))
                self._due.discard(ledger_id, entry_id)

    def forget_waiting(self, position: Position | None) -> None:
        if position is None:
            self._waiting.clear()
            self._due.clear()
            self.in_flight.clear()
            return
        self._waiting.discard_up_to(position)
        self._due.discard_up_to(position)
        for entry in self.in_flight.up_to(position):
            self._landed(*entry)

    def _landed(self, ledger_id: int, entry_id: int) -> int | None:
        """Ends the flight of the entry; returns its hash, None if it was not in flight."""
        landed = self.in_flight.remove(ledger_id, entry_id)
        if landed is None:
            return None
        sticky_hash, is_free = landed
        if is_free and self._waiting.is_parked(sticky_hash):
            owner = self.ranges.owner(sticky_hash)
            if owner is not None:
                self._waiting.unpark(sticky_hash, owner)
                self._wake_for_free_keys()
        return sticky_hash

    def _wake_for_free_keys(self) -> None:
        if self._unblocking is None:
            self._unblocking = self._loop.call_later(self.config.unblocking_ms / 1000, self._unblocked)

    def _unblocked(self) -> None:
        self._unblocking = None
        self.wake()

    # -- entries go out

    def _may_have(self, sticky_hash: int) -> Consumer | None:
        """The consumer that may get entries of the hash now; None while another one has unacknowledged ones."""
        owner = self.ranges.owner(sticky_hash)
        if self.mode.out_of_order:
            return owner
        holder = self.in_flight.holder(sticky_hash)
        return owner if holder is None or holder is owner else None

    def step(self) -> bool:
        allowance = self.budget.allowance(self.consumers, self.wake)
        if allowance is None:
            return False
        deliveries = Deliveries(allowance)
        first = self._waiting.lowest(deliveries.shares) if self._waiting else None
        if self._due and self._is_due_before(first) and self._step_due(deliveries):
            return True
        if first is not None:
            return self._step_waiting(deliveries, first)
        return not self._due and self._step_new(deliveries)

    def _is_due_before(self, first: EntryId | None) -> bool:
        """Whether an entry that is due is before the first one that waits, so that it must not be overtaken."""
        due = self._due.first_run(1)
        return due is not None and (first is None or (due.ledger_id, due.first) < first)

    def _step_new(self, deliveries: Deliveries) -> bool:
        may_wait = self._look_ahead() - len(self._waiting)
        block = self.new_block(max(deliveries.left, READ_AT_LEAST)) if may_wait > 0 else None
        if block is None:
            return False
        dealt = self._deal(deliveries, block, self.deliverable(block), may_wait)
        self._send(deliveries, block)
        self.reader.passed(block, dealt)
        return dealt > 0

    def _step_due(self, deliveries: Deliveries) -> bool:
        run = self._due.first_run(self.config.read_batch_entries)
        may_wait = self._look_ahead() - len(self._waiting)
        block = None if run is None or may_wait <= 0 else self.reader.again(run, self._due.discard)
        if block is None:
            return False
        dealt = self._deal(deliveries, block, self.unacknowledged(block), may_wait)
        self._due.discard(block.ledger_id, block.first_entry_id, dealt)
        self._send(deliveries, block)
        return dealt > 0

    def _deal(self, deliveries: Deliveries, block: Block, ranges: Iterable[tuple[int, int]], may_wait: int) -> int:
        """Gives each entry to the owner of its key, or lets it wait; returns how many rows it is done with.

        Never overtakes an earlier entry of the key: if one waits, its owner can take nothing now (waiting entries go
        first) or may not have the key yet. Ends when no consumer can take more, or `may_wait` more entries wait.
        """
        data, starts, ends, counts = block.data, block.starts, block.ends, block.counts
        ledger_id, first_entry_id = block.ledger_id, block.first_entry_id
        waiting, entry_hash = self._waiting, self.ranges.entry_hash
        full = len(waiting) + may_wait
        for first, last in ranges:
            for row in range(first, last):
                if deliveries.left <= 0 or len(waiting) >= full:
                    return row
                sticky_hash = entry_hash(data, starts[row], ends[row])
                owner = self._may_have(sticky_hash)
                entry_id = first_entry_id + row
                if owner is None or not deliveries.give(owner, row, counts[row]):
                    waiting.add((ledger_id, entry_id), sticky_hash, owner)
                else:
                    self.in_flight.add(ledger_id, entry_id, sticky_hash, owner)
        return len(block)

    def _step_waiting(self, deliveries: Deliveries, first: EntryId) -> bool:
        run = Run(*first, self._waiting.reach(first, self.config.read_batch_entries, READ_GAP))
        block = self.reader.again(run, self._waiting.discard_run)
        if block is None:
            return False
        self._deal_waiting(deliveries, block, self.unacknowledged(block))
        if not deliveries.rows:
            self._waiting.discard(first)  # acknowledged, but not one by one
        self._send(deliveries, block)
        return True

    def _deal_waiting(self, deliveries: Deliveries, block: Block, ranges: Iterable[tuple[int, int]]) -> None:
        waiting, ledger_id, first_entry_id = self._waiting, block.ledger_id, block.first_entry_id
        for first, last in ranges:
            for row in range(first, last):
                entry = ledger_id, first_entry_id + row
                sticky_hash = waiting.hash_of(entry)
                if sticky_hash is None:
                    continue
                owner = self._may_have(sticky_hash)
                if owner is not None and deliveries.give(owner, row, block.counts[row]):
                    waiting.discard(entry)
                    self.in_flight.add(*entry, sticky_hash, owner)

    def _send(self, deliveries: Deliveries, block: Block) -> None:
        for consumer, rows in deliveries.rows.items():
            start = previous = rows[0]
            for row in rows[1:]:
                if row != previous + 1:
                    self.send_pending(consumer, block, start, previous + 1)
                    start = row
                previous = row
            self.send_pending(consumer, block, start, previous + 1)

    def facts(self) -> DispatchFacts:
        draining: dict[Consumer, list[DrainingHash]] = {}
        for sticky_hash, holder, entries in self.in_flight.held():
            if holder is not self.ranges.owner(sticky_hash):
                draining.setdefault(holder, []).append(DrainingHash(sticky_hash, entries))
        owned = self.ranges.by_owner()
        facts = super().facts()
        return facts._replace(
            key_shared_mode="STICKY" if self.mode.sticky else "AUTO_SPLIT",
            out_of_order=self.mode.out_of_order,
            hashes={
                consumer: OwnedHashes(owned.get(consumer, ()), tuple(draining.get(consumer, ())))
                for consumer in self.consumers
            },
        )

    def _look_ahead(self) -> int:
        """Entries that may wait before the broker stops reading."""
        config, consumers = self.config, len(self.consumers)
        limits = [config.look_ahead_per_consumer * consumers, config.look_ahead_per_subscription]
        if not any(limits):  # then the limits of unacknowledged messages bound the memory, as in Pulsar
            policies = self.context.in_force.current
            limits = [policies.max_unacked_per_consumer * consumers, policies.max_unacked_per_subscription]
        return min([limit for limit in limits if limit > 0], default=1 << 62)


def _ranges(mode: KeySharedMode, config: DispatchConfig) -> HashRanges[Consumer]:
    if mode.buckets:
        return BucketRanges(mode.ranges)
    if mode.sticky:
        return StickyRanges()
    return ConsistentRanges(config.points_per_consumer) if config.consistent_hashing else SplitRanges()
