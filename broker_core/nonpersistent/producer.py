"""A producer of a non-persistent topic: drops what comes while too much of its connection is on its way.

A dropped message has a receipt too, with the id -1:-1 (rules, 3.4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.producer import PendingPublish, Producer
from broker_core.rate import Rate
from broker_core.wire.encode import ReceiptEncoder

if TYPE_CHECKING:
    from broker_core.session import Session
    from broker_core.topic import Topic
    from broker_core.wire.send import SendRun


class ReceiptsWithoutALedger(ReceiptEncoder):
    """Each with the id 0:0, as Pulsar's: the message is nowhere to be found."""

    def receipts(self, run: SendRun, ledger_id: int, first_entry_id: int, partition: int) -> bytes:
        each = (run.slice(row, row + 1) for row in range(len(run)))
        return b"".join(super(ReceiptsWithoutALedger, self).receipts(one, 0, 0, partition) for one in each)


class NonPersistentProducer(Producer):
    def __init__(self, session: Session, topic: Topic, producer_id: int, name: str, metadata: dict[str, str]) -> None:
        super().__init__(session, topic, producer_id, name, metadata)
        self.dropped = Rate(topic.clock)
        self.receipts = ReceiptsWithoutALedger()
        self._limit = session.broker.config.connection.max_non_persistent

    def _publish_whole(self, run: SendRun) -> None:
        if self.session.non_persistent_messages >= self._limit:
            self.dropped.add(sum(run.counts), 0)
            self.session.outbound.send(self.receipts.duplicates(run, self.partition))
        else:
            super()._publish_whole(run)

    def _begin(self, run: SendRun) -> PendingPublish:
        self.session.non_persistent_messages += len(run.starts)
        return super()._begin(run)

    def finished(self, messages: int) -> None:
        self.session.non_persistent_messages -= messages
        super().finished(messages)
