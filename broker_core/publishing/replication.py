"""Producers that copy the messages of another cluster (Pulsar docs, "Geo-replication"), as the receiver sees them.

A replicator is a producer whose name starts with `pulsar.repl.`. It sends entries of many producers as they were stored
in its cluster, so deduplication looks up each entry's producer. Between them it sends markers (PIP-33): entries without
messages, which are stored in order and never reach a consumer (`replication.replicated_subscriptions`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from broker_core.publishing.sequence_ids import NO_PRODUCER
from broker_core.wire.message import parse_metadata
from broker_core.wire.unnumbered import is_unnumbered

if TYPE_CHECKING:
    from broker_core.wire.pulsar_api_pb2 import MessageMetadata
    from broker_core.wire.send import SendRun

REPLICATOR_PREFIX = "pulsar.repl."
SOURCE_POSITION = "__MSG_PROP_REPL_SOURCE_POSITION"
"""Pulsar's property of a copy: `ledger:entry` in the cluster that it comes from."""
ENTRY_BITS = 64
_POSITION = re.compile(r"(\d{1,18}):(\d{1,18})", re.ASCII)
MARKER_TYPES = range(10, 14)  # of replicated subscriptions; those of transactions never leave their cluster
MARKER_MESSAGES = 0
"""The message count of a marker: permits, backlogs, and message rates leave it out."""
OF_A_MARKER = 1 << 63
"""In the receipt of a marker, in the place of the entry: Pulsar's Long.MIN_VALUE."""


def is_replicator(producer_name: str) -> bool:
    return producer_name.startswith(REPLICATOR_PREFIX)


def source_cluster(producer_name: str) -> str:
    """The cluster that a replicator copies from: old brokers name no more than that, newer ones also the target."""
    return producer_name.removeprefix(REPLICATOR_PREFIX).partition("-->")[0]


class MarkerSender(NamedTuple):
    """The replicator of another cluster. `may_move`: whether it may acknowledge messages of that subscription."""

    cluster: str
    may_move: Callable[[str], bool]


class Origin(NamedTuple):
    """The producer of an entry in the other cluster, and the sequence IDs of its first and last message.

    Where replicators name the position in the other cluster (`copy_producer`), these are the replicator, and that
    position as one number. The IDs come from the entry, because a replicator's SEND repeats only the first one
    (Pulsar, `MessageDeduplication`).
    """

    producer: str
    lowest: int
    highest: int


NO_ORIGIN = Origin(NO_PRODUCER, 0, 0)
"""The origin of entries that are always new."""


def by_original_producer(run: SendRun, *, by_position: bool = False) -> Iterator[tuple[str, int, list[Origin]]]:
    """The consecutive entries of a run with the same origin: producer, index of the first one, and their origins.

    The producer of markers and unnumbered entries is `NO_PRODUCER`. `by_position`: copies are numbered by their
    positions in their cluster, whatever producer they are from.
    """
    origin_of = _position_of if by_position else _origin
    first = 0
    for producer, entries in groupby(
        (origin_of(run, index) for index in range(len(run))), lambda origin: origin.producer
    ):
        origins = list(entries)
        yield producer, first, origins
        first += len(origins)


def _origin(run: SendRun, index: int) -> Origin:
    return NO_ORIGIN if run.counts[index] == MARKER_MESSAGES else origin_by_name(parse_metadata(run.entry(index)))


def origin_by_name(metadata: MessageMetadata) -> Origin:
    """The producer and sequence IDs of an entry that is not a marker."""
    if is_unnumbered(metadata):
        return NO_ORIGIN
    highest = max(metadata.sequence_id, metadata.highest_sequence_id)
    return Origin(str(metadata.producer_name), metadata.sequence_id, highest)


def _position_of(run: SendRun, index: int) -> Origin:
    origin = None if run.counts[index] == MARKER_MESSAGES else origin_by_position(parse_metadata(run.entry(index)))
    return NO_ORIGIN if origin is None else origin


def origin_by_position(metadata: MessageMetadata) -> Origin | None:
    """The origin of a copy that names its position in its cluster; None for any other entry.

    Its producer is the replicator, by a name that does not depend on this cluster's. Ledger and entry are one number,
    so that no snapshot can hold one of them without the other.
    """
    position = source_position(metadata)
    if position is None:
        return None
    number = position[0] << ENTRY_BITS | position[1]
    return Origin(f"{REPLICATOR_PREFIX}{metadata.replicated_from}", number, number)


def source_position(metadata: MessageMetadata) -> tuple[int, int] | None:
    """Ledger and entry of a copy in its cluster; None if it names none."""
    if not metadata.replicated_from:
        return None
    for property_ in reversed(metadata.properties):
        if property_.key == SOURCE_POSITION:
            position = _POSITION.fullmatch(property_.value)
            return None if position is None else (int(position[1]), int(position[2]))
    return None
