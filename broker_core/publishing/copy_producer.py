"""A replicator that names the position of each copy in its cluster (`supports_repl_dedup_by_lid_and_eid`).

Its copies are told apart by these positions: they rise, so a copy at or below the last one was sent before. A receipt
repeats the position instead of the SEND's sequence ID. Both sides agree on that in CONNECT and CONNECTED.
Source: Pulsar, `MessageDeduplication` and `GeoPersistentReplicator`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.errors import PersistenceFailed
from broker_core.publishing.producer import Producer
from broker_core.publishing.replication import MARKER_MESSAGES, OF_A_MARKER, source_position
from broker_core.wire.encode import ReceiptEncoder
from broker_core.wire.errors import MalformedEntry
from broker_core.wire.message import parse_metadata
from broker_core.wire.send import receipt_key

if TYPE_CHECKING:
    from broker_core.client import Client
    from broker_core.publishing.producer import PublishTarget
    from broker_core.wire.send import SendRun


class CopyReceiptEncoder(ReceiptEncoder):
    """Writes the positions of the source in place of the sequence IDs."""

    def receipts(self, run: SendRun, ledger_id: int, first_entry_id: int) -> bytes:
        return super().receipts(_named_by_source(run), ledger_id, first_entry_id)

    def duplicates(self, run: SendRun) -> bytes:
        return super().duplicates(_named_by_source(run))


class CopyProducer(Producer):
    names_positions = True

    def __init__(
        self, client: Client, topic: PublishTarget, producer_id: int, name: str, metadata: dict[str, str]
    ) -> None:
        super().__init__(client, topic, producer_id, name, metadata)
        self.receipts = CopyReceiptEncoder(topic.name.partition)

    def publish(self, run: SendRun) -> None:
        """Refuses copies without a position: later, nothing could tell whether they are stored."""
        start = 0
        for index, sequence_id in enumerate(run.sequence_ids):
            if not _is_marker(run, index) and _position(run, index) is None:
                self._publish_part(run, start, index)
                self.refuse(sequence_id, PersistenceFailed("The position of the message in its cluster is missing"))
                start = index + 1
        self._publish_part(run, start, len(run))

    def _publish_part(self, run: SendRun, start: int, stop: int) -> None:
        if start < stop and not self.closed:
            super().publish(run.slice(start, stop))


def _is_marker(run: SendRun, index: int) -> bool:
    return run.counts[index] == MARKER_MESSAGES


def _position(run: SendRun, index: int) -> tuple[int, int] | None:
    try:
        return source_position(parse_metadata(run.entry(index)))
    except MalformedEntry:
        return None


def _named_by_source(run: SendRun) -> SendRun:
    """The run with the keys that its receipts need."""
    keys = [_key(run, index) for index in range(len(run))]
    return type(run)(run.producer_id, run.data, run.starts, run.ends, keys, run.counts, run.publish_times)


def _key(run: SendRun, index: int) -> bytes:
    if _is_marker(run, index):
        return receipt_key(run.producer_id, run.sequence_ids[index], OF_A_MARKER)
    position = _position(run, index)
    assert position is not None, "`publish` refuses copies without one"
    return receipt_key(run.producer_id, *position)
