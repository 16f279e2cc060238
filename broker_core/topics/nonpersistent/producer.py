"""A producer of a non-persistent topic: drops messages while its connection has too many in flight.

A dropped message also gets a receipt, with the ID -1:-1 (docs/reference/protocol.md "Receipts").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.publishing.producer import PendingPublish, Producer, PublishTarget
from broker_core.rates.rate import Rate
from broker_core.wire.encode import ReceiptEncoder

if TYPE_CHECKING:
    from broker_core.client import Client
    from broker_core.wire.send import SendRun


class ReceiptsWithoutALedger(ReceiptEncoder):
    """Each receipt has the ID 0:0, as in Pulsar, because the message is not stored."""

    def receipts(self, run: SendRun, ledger_id: int, first_entry_id: int) -> bytes:
        messages = (run.slice(row, row + 1) for row in range(len(run)))
        return b"".join(super(ReceiptsWithoutALedger, self).receipts(message, 0, 0) for message in messages)


class NonPersistentProducer(Producer):
    def __init__(
        self, client: Client, topic: PublishTarget, producer_id: int, name: str, metadata: dict[str, str]
    ) -> None:
        super().__init__(client, topic, producer_id, name, metadata)
        self.dropped: Rate = Rate(topic.clock)
        self.receipts = ReceiptsWithoutALedger(topic.name.partition)
        self._limit = client.max_non_persistent

    def _publish_whole(self, run: SendRun) -> None:
        if self.client.non_persistent_messages >= self._limit:
            self.dropped.add(sum(run.counts), 0)
            self.client.outbound.send(self.receipts.duplicates(run))
        else:
            super()._publish_whole(run)

    def _begin(self, run: SendRun) -> PendingPublish:
        self.client.non_persistent_messages += len(run.starts)
        return super()._begin(run)

    def finished(self, messages: int) -> None:
        self.client.non_persistent_messages -= messages
        super().finished(messages)
