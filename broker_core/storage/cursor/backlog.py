"""The backlog of a subscription: entries, messages, and bytes that are not acknowledged.

Entries are counted at once. Messages and bytes are those of the ledgers less what is acknowledged in them, and that is
remembered per ledger until more is acknowledged there.
"""

from broker_core.storage.log.ledger_list import LedgerList
from broker_core.storage.log.weights import Acknowledged, Weights
from broker_core.storage.records.catalog import CursorInfo
from broker_core.storage.records.position import Position


class Backlog:
    """The backlog of one cursor. `front` is the cursor's first unacknowledged position."""

    def __init__(self, info: CursorInfo, ledgers: LedgerList, weights: Weights) -> None:
        self._info = info
        self._ledgers = ledgers
        self._weights = weights
        self._weighed: dict[int, tuple[int, int, int]] = {}  # ledger -> acknowledged entries, messages, bytes

    def forget(self) -> None:
        """Forgets the measurements, because the cursor was reset."""
        self._weighed = {}  # a new one: a measurement may still run

    def entries(self, front: Position) -> int:
        total = self._ledgers.entries_after(front)
        for ledger_id, window in self._info.windows.items():
            if ledger_id >= front.ledger_id:
                total -= window.acked_from(front.entry_id if ledger_id == front.ledger_id else 0)
        return total

    def totals(self, front: Position) -> tuple[int, int, bool]:
        """Messages, bytes, and whether both are exact, not estimated."""
        messages, size = self._ledgers.totals_from(front.ledger_id)
        exact = True
        for ledger_id, acked in self._acknowledged(front):
            gone_messages, gone_size, weighed = self._weigh(ledger_id, acked)
            messages -= gone_messages
            size -= gone_size
            exact = exact and weighed
        if self._info.batches:
            messages -= self._acknowledged_in_batches(front)
            exact = exact and all(batch.messages for _, _, batch in self._info.batches)
        return max(messages, self.entries(front)), max(0, size), exact

    def entries_and_bytes(self, front: Position) -> tuple[int, int, bool]:
        """The result of `entries`, then the bytes and the exactness that `totals` returns."""
        ids = self._ledgers.ids
        if ids and front.ledger_id == ids[-1] and not self._info.windows:  # where most subscriptions are
            last = self._ledgers.infos[front.ledger_id]
            if front.entry_id >= last.entries:
                return 0, 0, True
            if not front.entry_id:
                return last.entries, last.size, True
        _, size, exact = self.totals(front)
        return self.entries(front), size, exact

    def _acknowledged_in_batches(self, front: Position) -> int:
        batches = self._info.batches
        there = [i for i in batches.ledger_ids if i >= front.ledger_id and i in self._ledgers.infos]
        return sum(batches.acknowledged_in(ledger_id) for ledger_id in there)

    def _acknowledged(self, front: Position) -> list[tuple[int, Acknowledged]]:
        """The ledgers in which some entries are acknowledged and others perhaps not."""
        if not front.entry_id and not self._info.windows:  # like a subscription without a consumer
            return []
        return [
            (
                ledger_id,
                Acknowledged(front.entry_id if ledger_id == front.ledger_id else 0, self._info.windows.get(ledger_id)),
            )
            for ledger_id in {front.ledger_id, *self._info.windows}
            if ledger_id >= front.ledger_id and ledger_id in self._ledgers.infos
        ]

    def _weigh(self, ledger_id: int, acked: Acknowledged) -> tuple[int, int, bool]:
        """Messages and bytes of the acknowledged entries of a ledger, and whether they are exact.

        They are remembered until more are acknowledged.
        """
        count = acked.count()
        known = self._weighed.get(ledger_id)
        if known is not None and known[0] == count:
            return known[1], known[2], True
        messages, size, exact = self._weights.weigh(ledger_id, acked)
        if exact:
            self._weighed[ledger_id] = (count, messages, size)
        return messages, size, exact

    async def measure(self, front: Position) -> None:
        """Makes the totals exact; reads entries if necessary."""
        weighed = self._weighed  # a reset replaces it, and then the result is dropped
        for ledger_id, acked in self._acknowledged(front):
            acked = acked.copy()  # acknowledgments go on while entries are read
            count = acked.count()
            known = weighed.get(ledger_id)
            if known is None or known[0] != count:
                messages, size = await self._weights.measure(ledger_id, acked)
                weighed[ledger_id] = (count, messages, size)
