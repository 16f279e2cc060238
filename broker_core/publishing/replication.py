"""Producers that copy the messages of another cluster (Pulsar docs, "Geo-replication"), as the receiver sees them.

A replicator is a producer whose name starts with `pulsar.repl.`. It sends entries of many producers as they were stored
in its cluster, so deduplication looks up each entry's producer. Between them it sends markers (PIP-33): entries without
messages, which are stored in order and never reach a consumer. This broker does not answer them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

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


def source_cluster(producer_name: str) -> str:
    """The cluster that a replicator copies from: old brokers name no more than that, newer ones also the target."""
    return producer_name.removeprefix(REPLICATOR_PREFIX).partition("-->")[0]


class Origin(NamedTuple):
    """Who published an entry in the other cluster, and the sequence IDs of its first and last message.

    They are those of the entry. A replicator's SEND repeats only the first one (Pulsar, `MessageDeduplication`).
    """

    producer: str
    lowest: int
    highest: int


MARKER = Origin(NO_PRODUCER, 0, 0)


def by_original_producer(run: SendRun) -> Iterator[tuple[str, int, list[Origin]]]:
    """The consecutive entries of a run with the same origin: producer, index of the first one, and their origins.

    The producer of markers is `NO_PRODUCER`.
    """
    first = 0
    for producer, entries in groupby((_origin(run, index) for index in range(len(run))), lambda one: one.producer):
        origins = list(entries)
        yield producer, first, origins
        first += len(origins)


def _origin(run: SendRun, index: int) -> Origin:
    if run.counts[index] == MARKER_MESSAGES:
        return MARKER
    metadata = parse_metadata(run.entry(index))
    highest = max(metadata.sequence_id, metadata.highest_sequence_id)
    return Origin(str(metadata.producer_name), metadata.sequence_id, highest)
