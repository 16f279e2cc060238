"""Producers that copy the messages of another cluster (Pulsar docs, "Geo-replication"), as the receiver sees them.

A replicator is a producer whose name starts with `pulsar.repl.`. It sends entries of many producers as they were stored
in its cluster, so deduplication looks up each entry's producer. Between them it sends markers (PIP-33): entries without
messages, which are stored in order and never reach a consumer. This broker does not answer them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from broker_core.publishing.sequence_ids import NO_PRODUCER
from broker_core.wire.message import parse_metadata

if TYPE_CHECKING:
    from broker_core.wire.send import SendRun

REPLICATOR_PREFIX = "pulsar.repl."
MARKER_TYPES = range(10, 14)  # of replicated subscriptions; those of transactions never leave their cluster
MARKER_MESSAGES = 0
"""The message count of a marker: permits, backlogs, and message rates leave it out."""


def is_replicator(producer_name: str) -> bool:
    return producer_name.startswith(REPLICATOR_PREFIX)


def by_original_producer(run: SendRun) -> Iterator[tuple[str, int, int]]:
    """The parts [first, stop) of a run by their producer in the other cluster; `NO_PRODUCER` for markers."""
    first, before = 0, _original(run, 0)
    for index in range(1, len(run)):
        name = _original(run, index)
        if name != before:
            yield before, first, index
            first, before = index, name
    yield before, first, len(run)


def _original(run: SendRun, index: int) -> str:
    return NO_PRODUCER if run.counts[index] == MARKER_MESSAGES else str(parse_metadata(run.entry(index)).producer_name)
