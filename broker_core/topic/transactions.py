"""The transactions of one topic: their messages, their markers, and how many there were.

What is open and what was aborted belongs to the log (`storage.records.transactions`), which hides it from readers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.errors import BrokerError, NotAllowed
from broker_core.publishing.replication import MARKER_MESSAGES
from broker_core.storage.errors import StorageError
from broker_core.wire.send import SendRun
from broker_core.wire.transaction_markers import transaction_marker

if TYPE_CHECKING:
    from broker_core.storage.records.position import Position
    from broker_core.topic.calls import TopicCalls
    from broker_core.topic.special_entries import SpecialEntries
    from broker_core.topic.state import Lifecycle
    from broker_core.topic_context import TopicContext
    from broker_core.topic_log import PublishDone
    from broker_core.transactions.coordinator import Coordinator
    from broker_core.wire.transaction_id import TransactionId

log = logging.getLogger(__name__)


class TopicTransactions:
    """`committed` and `aborted` count those that ended here since the topic was loaded."""

    __slots__ = ("_calls", "_context", "_coordinator", "_lifecycle", "_special", "aborted", "committed")

    def __init__(
        self,
        context: TopicContext,
        lifecycle: Lifecycle,
        special: SpecialEntries,
        calls: TopicCalls,
        coordinator: Callable[[], Coordinator | None],
    ) -> None:
        self._context = context
        self._lifecycle = lifecycle
        self._special = special
        self._calls = calls
        self._coordinator = coordinator
        self.committed = 0
        self.aborted = 0

    @property
    def open(self) -> int:
        """How many have messages here and have not ended."""
        on_disk = self._context.log.on_disk
        return 0 if on_disk is None or on_disk.transactions is None else len(on_disk.transactions.open)

    def publish(self, run: SendRun, done: PublishDone) -> None:
        """Appends messages of an open transaction. Raises a `BrokerError` if the transaction may not write."""
        on_disk, coordinator = self._context.log.on_disk, self._coordinator()
        if coordinator is None or run.transaction is None:
            raise NotAllowed("Transaction buffer disable!")  # Pulsar's words
        if on_disk is None:
            raise NotAllowed(f"{self._context.name} is not persistent, and has no transactions")
        transaction = coordinator.writing(run.transaction)
        self._special.expect_transactions()
        try:
            on_disk.append_in(transaction, run, done)
        except StorageError as error:
            raise self._lifecycle.write_failed(error) from error

    def write_marker(self, transaction: TransactionId, *, commit: bool) -> None:
        """The marker keeps the positions of Pulsar. A topic that takes no more messages does without it."""
        now_ms = self._context.clock.wall_ms()
        data = transaction_marker(transaction, now_ms, commit=commit)
        marker = SendRun(0, data, [0], [len(data)], [b""], [MARKER_MESSAGES], [now_ms])
        try:
            self._calls.publish(marker, self._marker_written)
        except BrokerError as error:
            log.info("topic %s: no marker for transaction %s: %s", self._context.name, transaction, error)

    def _marker_written(self, _: Position | None, error: StorageError | None) -> None:
        if error is not None:
            self._lifecycle.write_failed(error)

    def ended(self, *, commit: bool) -> None:
        """A transaction with messages here has ended."""
        if commit:
            self.committed += 1
        else:
            self.aborted += 1
