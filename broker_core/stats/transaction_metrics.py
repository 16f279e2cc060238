"""The metrics of transactions, under the names and labels of Pulsar 4.0.

Pulsar has one for each of its logs of transactions, too. This broker has no such logs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.rates.transaction_counts import LATENCY_MS
from broker_core.stats.topic_metrics import Block, Values

if TYPE_CHECKING:
    from broker_core.topic.transactions import TopicTransactions
    from broker_core.transactions.coordinator import Coordinator

_LATENCY = tuple(f"pulsar_txn_execution_latency_le_{bound}" for bound in (*LATENCY_MS, "overflow"))
_COUNTS = tuple(f"pulsar_txn_{name}_total" for name in ("created", "committed", "aborted", "timeout"))
COORDINATOR = ("pulsar_txn_active_count", *_COUNTS, *_LATENCY)
BUFFER = tuple(f"pulsar_txn_tb_{name}_total" for name in ("active", "committed", "aborted"))


def of_coordinator(coordinator: Coordinator, cluster: str) -> Block:
    counts = coordinator.counts
    ended = counts.committed, counts.aborted, counts.timed_out
    values = len(coordinator.active), counts.begun, *ended, *counts.latency
    return f'{cluster},coordinator_id="{coordinator.id}"', COORDINATOR, values


def of_buffer(transactions: TopicTransactions) -> Values | None:
    """None for a topic that has had no transaction since it was loaded."""
    values = transactions.open, transactions.committed, transactions.aborted
    return values if any(values) else None
