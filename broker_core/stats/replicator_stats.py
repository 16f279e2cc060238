"""The state of a topic's replication to and from one other cluster, as an immutable snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from broker_core.publishing.replication import source_cluster
from broker_core.rates.traffic import NOTHING, Traffic
from broker_core.storage.errors import StorageError

if TYPE_CHECKING:
    from broker_core.publishing.producer import Producer
    from broker_core.replication.replicator import Replicator
    from broker_core.topic.topic import Topic


class ReplicatorStats(NamedTuple):
    """`incoming` is from the other cluster, `outgoing` to it. Connections are "" while there are none.

    `delay_seconds`: the age of the oldest entry that is not confirmed. `last_error`: why it does not replicate, "" if
    it does.
    """

    cluster: str
    incoming: Traffic = NOTHING
    outgoing: Traffic = NOTHING
    expired: Traffic = NOTHING
    backlog_entries: int = 0
    backlog_bytes: int = 0
    connected: bool = False
    delay_seconds: int = 0
    inbound: str = ""
    inbound_since_ms: int = 0
    outbound: str = ""
    outbound_since_ms: int = 0
    state: str = ""
    last_error: str = ""
    last_receipt_ms: int = 0
    dropped: Traffic | None = None  # set for a non-persistent topic


async def replication_stats(topic: Topic) -> dict[str, ReplicatorStats]:
    """Return the statistics by cluster, for each cluster to which the topic has a replicator."""
    if not topic.replicators:
        return {}
    sources = {
        source_cluster(producer.name): producer for producer in topic.producers.values() if producer.is_replicator
    }
    stats = {}
    for replicator in list(topic.replicators.values()):
        delay = await _delay_seconds(topic, replicator)
        stats[replicator.cluster] = _stats_of(replicator, sources.get(replicator.cluster), delay)
    return stats


def _stats_of(replicator: Replicator, source: Producer | None, delay_seconds: int) -> ReplicatorStats:
    link = replicator.link
    return ReplicatorStats(
        replicator.cluster,
        incoming=Traffic.of([source.rate]) if source is not None else NOTHING,
        outgoing=Traffic.of([replicator.sent]),
        expired=Traffic.of([replicator.expired]),
        backlog_entries=replicator.cursor.backlog_entries,
        backlog_bytes=replicator.cursor.backlog_bytes,
        connected=replicator.is_connected,
        delay_seconds=delay_seconds,
        inbound=source.client.address if source is not None else "",
        inbound_since_ms=source.connected_since_ms if source is not None else 0,
        outbound=link.connection.url if link is not None else "",
        outbound_since_ms=replicator.connected_since_ms if link is not None else 0,
        state=replicator.state.value,
        last_error=replicator.last_error,
        last_receipt_ms=replicator.last_receipt_ms,
        dropped=Traffic.of([replicator.dropped]) if replicator.dropped is not None else None,
    )


async def _delay_seconds(topic: Topic, replicator: Replicator) -> int:
    oldest = replicator.cursor.oldest_unacknowledged()
    if oldest is None:
        return 0
    try:
        published = await topic.ledger.publish_time(oldest)
    except StorageError:  # the replicator itself reports what cannot be read
        return 0
    return 0 if published is None else max(0, topic.clock.wall_ms() - published) // 1000


def merged(parts: Sequence[Mapping[str, ReplicatorStats]]) -> dict[str, ReplicatorStats]:
    """The partitions of a topic as one; connections are those of one partition."""
    clusters = sorted({cluster for part in parts for cluster in part})
    return {cluster: _merged([part[cluster] for part in parts if cluster in part]) for cluster in clusters}


def _merged(same: Sequence[ReplicatorStats]) -> ReplicatorStats:
    worst = next((part for part in same if not part.connected), same[0])
    return ReplicatorStats(
        worst.cluster,
        incoming=sum((part.incoming for part in same), NOTHING),
        outgoing=sum((part.outgoing for part in same), NOTHING),
        expired=sum((part.expired for part in same), NOTHING),
        backlog_entries=sum(part.backlog_entries for part in same),
        backlog_bytes=sum(part.backlog_bytes for part in same),
        connected=all(part.connected for part in same),
        delay_seconds=max(part.delay_seconds for part in same),
        state=worst.state,
        last_error=next((part.last_error for part in same if part.last_error), ""),
        last_receipt_ms=max(part.last_receipt_ms for part in same),
        dropped=_dropped(same),
    )


def _dropped(same: Sequence[ReplicatorStats]) -> Traffic | None:
    dropped = [part.dropped for part in same if part.dropped is not None]
    return sum(dropped, NOTHING) if dropped else None
