"""Snapshots as the JSON objects of Pulsar's admin API, with its fields in its order.

Compared field by field with Pulsar 4.0.7. Fields of features that this broker does not have are constant. Objects and
arrays are always present, because clients access them. Times as text have milliseconds and `Z`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from broker_core.clock import iso
from broker_core.dispatch.facts import DrainingHash
from broker_core.publishing.access import AccessMode
from broker_core.stats.replicator_stats import ReplicatorStats
from broker_core.stats.subscription_stats import ConsumerStats, SubscriptionStats
from broker_core.stats.topic_stats import CompactionStats, PublisherStats, TopicStats

_ACK_RANGE_BYTES = 12  # the size of a range in `nonContiguousDeletedMessagesRangesSerializedSize`
_ACCESS_MODES = {
    AccessMode.SHARED: "Shared",
    AccessMode.EXCLUSIVE: "Exclusive",
    AccessMode.WAIT_FOR_EXCLUSIVE: "WaitForExclusive",
    AccessMode.EXCLUSIVE_WITH_FENCING: "ExclusiveWithFencing",
}
_FILTER = {f"filter{verb}MsgCount": 0 for verb in ("Processed", "Accepted", "Rejected", "Rescheduled")}
_THROTTLED = {
    f"dispatchThrottled{unit}EventsBy{level}Limit": 0
    for level in ("Subscription", "Topic", "Broker")
    for unit in ("Msg", "Bytes")
}


def topic_body(stats: TopicStats, *, owner: str, now_ms: int) -> dict[str, Any]:
    """TopicStats; the caller adds the subscriptions, because there may be many."""
    return {
        **_topic_head(stats, now_ms),
        "publishers": [publisher_body(publisher) for publisher in stats.publishers],
        "waitingPublishers": stats.waiting_publishers,
        "subscriptions": {},
        "replication": {cluster: replicator_body(replicator) for cluster, replicator in stats.replication.items()},
        "deduplicationStatus": "Enabled" if stats.deduplicates else "Disabled",
        **({} if stats.epoch is None else {"topicEpoch": stats.epoch}),
        **_topic_tail(stats),
        "ownerBroker": owner,
        "topicCreationTimeStamp": stats.created_ms,
        "lastPublishTimeStamp": stats.last_published_ms,
    }


def _oldest(stats: TopicStats, now_ms: int) -> dict[str, Any]:
    if stats.oldest is None:
        return {"oldestBacklogMessageAgeSeconds": -1}
    return {
        "oldestBacklogMessageAgeSeconds": max(0, now_ms - stats.oldest.published_ms) // 1000,
        "oldestBacklogMessageSubscriptionName": stats.oldest.subscription,
    }


def _topic_head(stats: TopicStats, now_ms: int) -> dict[str, Any]:
    incoming, outgoing = stats.incoming, stats.outgoing
    return {
        "msgRateIn": incoming.message_rate,
        "msgThroughputIn": incoming.byte_rate,
        "msgRateOut": outgoing.message_rate,
        "msgThroughputOut": outgoing.byte_rate,
        "bytesInCounter": incoming.bytes,
        "msgInCounter": incoming.messages,
        "systemTopicBytesInCounter": incoming.bytes if stats.is_system else 0,
        "bytesOutCounter": outgoing.bytes,
        "msgOutCounter": outgoing.messages,
        "bytesOutInternalCounter": 0,
        "averageMsgSize": incoming.average_size,
        "msgChunkPublished": stats.has_chunks,
        "storageSize": stats.storage_bytes,
        "backlogSize": stats.backlog_bytes,
        "backlogQuotaLimitSize": stats.quota_bytes,
        "backlogQuotaLimitTime": stats.quota_seconds,
        **_oldest(stats, now_ms),
        "publishRateLimitedTimes": stats.publishes_held,
        "earliestMsgPublishTimeInBacklogs": stats.earliest_backlog_ms,
        "offloadedStorageSize": stats.offload.bytes,
        "lastOffloadLedgerId": stats.offload.last_ledger_id,
        "lastOffloadSuccessTimeStamp": stats.offload.last_success_ms,
        "lastOffloadFailureTimeStamp": stats.offload.last_failure_ms,
        "ongoingTxnCount": stats.open_transactions,
        "abortedTxnCount": stats.aborted_transactions,
        "committedTxnCount": stats.committed_transactions,
    }


def _topic_tail(stats: TopicStats) -> dict[str, Any]:
    ranges = sum(subscription.ack_ranges for subscription in stats.subscriptions.values())
    return {
        "nonContiguousDeletedMessagesRanges": ranges,
        "nonContiguousDeletedMessagesRangesSerializedSize": ranges * _ACK_RANGE_BYTES,
        "delayedMessageIndexSizeInBytes": sum(
            subscription.delayed_index_bytes for subscription in stats.subscriptions.values()
        ),
        "compaction": _compaction_body(stats.compaction),
        **({"lostEntries": stats.lost_entries} if stats.lost_entries else {}),  # not in Pulsar
    }


def _compaction_body(stats: CompactionStats) -> dict[str, int]:
    return {
        "lastCompactionRemovedEventCount": stats.removed_events,
        "lastCompactionSucceedTimestamp": stats.last_success_ms,
        "lastCompactionFailedTimestamp": stats.last_failure_ms,
        "lastCompactionDurationTimeInMills": stats.last_duration_ms,
    }


def publisher_body(stats: PublisherStats) -> dict[str, Any]:
    return {
        "accessMode": _ACCESS_MODES[stats.access_mode],
        "msgRateIn": stats.traffic.message_rate,
        "msgThroughputIn": stats.traffic.byte_rate,
        "averageMsgSize": stats.traffic.average_size,
        "chunkedMessageRate": 0.0,
        "producerId": stats.producer_id,
        "supportsPartialProducer": False,
        "producerName": stats.name,
        "address": stats.address,
        "connectedSince": iso(stats.connected_since_ms),
        "clientVersion": stats.client_version,
        "metadata": dict(stats.metadata),
    }


def replicator_body(stats: ReplicatorStats) -> dict[str, Any]:
    """ReplicatorStats; what follows `msgExpiredCount` is not in Pulsar."""
    incoming, outgoing = stats.incoming, stats.outgoing
    inbound = {"inboundConnection": stats.inbound, "inboundConnectedSince": iso(stats.inbound_since_ms)}
    outbound = {"outboundConnection": stats.outbound, "outboundConnectedSince": iso(stats.outbound_since_ms)}
    return {
        "msgRateIn": incoming.message_rate,
        "msgInCount": incoming.messages,
        "msgThroughputIn": incoming.byte_rate,
        "bytesInCount": incoming.bytes,
        "msgRateOut": outgoing.message_rate,
        "msgOutCount": outgoing.messages,
        "msgThroughputOut": outgoing.byte_rate,
        "bytesOutCount": outgoing.bytes,
        "msgRateExpired": stats.expired.message_rate,
        "replicationBacklog": stats.backlog_entries,
        "connected": stats.connected,
        "replicationDelayInSeconds": stats.delay_seconds,
        **(inbound if stats.inbound else {}),
        **(outbound if stats.outbound else {}),
        "msgExpiredCount": stats.expired.messages,
        **_dropped(stats),
        "backlogSize": stats.backlog_bytes,
        "state": stats.state,
        "lastError": stats.last_error,
        "lastReceiptTimestamp": stats.last_receipt_ms,
    }


def _dropped(stats: ReplicatorStats) -> dict[str, Any]:
    """The drop rate, which only a non-persistent topic has."""
    if stats.dropped is None:
        return {}
    return {"msgDropRate": stats.dropped.message_rate, "msgDropCount": stats.dropped.messages}


def subscription_body(stats: SubscriptionStats, *, with_size: bool = True) -> dict[str, Any]:
    """SubscriptionStats. `with_size` False: -1 instead of the bytes of its backlog."""
    return {
        **_outgoing(stats),
        "msgBacklog": stats.backlog_entries,
        "backlogSize": stats.backlog_bytes if with_size else -1,
        "earliestMsgPublishTimeInBacklog": stats.earliest_backlog_ms,
        "msgBacklogNoDelayed": stats.backlog_not_delayed,
        "blockedSubscriptionOnUnackedMsgs": stats.blocked,
        "msgDelayed": stats.delayed,
        "msgInReplay": stats.in_replay,
        "unackedMessages": stats.unacked_messages,
        "type": stats.type or "None",
        **({"activeConsumerName": stats.active_consumer} if stats.active_consumer else {}),
        "msgRateExpired": stats.expired.message_rate,
        "totalMsgExpired": stats.expired.messages,
        "lastExpireTimestamp": stats.last_expired_ms,
        "lastConsumedFlowTimestamp": stats.last_flow_ms,
        "lastConsumedTimestamp": stats.last_consumed_ms,
        "lastAckedTimestamp": stats.last_acked_ms,
        "lastMarkDeleteAdvancedTimestamp": stats.last_advanced_ms,
        "consumers": [consumer_body(consumer) for consumer in stats.consumers],
        "isDurable": stats.durable,
        "isReplicated": stats.replicated,
        "allowOutOfOrderDelivery": stats.out_of_order,
        **({"keySharedMode": stats.key_shared_mode} if stats.key_shared_mode else {}),
        "consumersAfterMarkDeletePosition": {},
        **_draining(stats.draining),
        "nonContiguousDeletedMessagesRanges": stats.ack_ranges,
        "nonContiguousDeletedMessagesRangesSerializedSize": stats.ack_ranges * _ACK_RANGE_BYTES,
        "delayedMessageIndexSizeInBytes": stats.delayed_index_bytes,
        "subscriptionProperties": dict(stats.properties),
        **_FILTER,
        **_THROTTLED,
        **stats.throttled,
        "durable": stats.durable,
        "replicated": stats.replicated,
        "backlogMessages": stats.backlog_messages,  # not in Pulsar
        **({"readFailure": stats.read_failure} if stats.read_failure else {}),  # not in Pulsar
    }


def _draining(draining: Sequence[DrainingHash]) -> dict[str, int]:
    return {
        "drainingHashesCount": len(draining),
        "drainingHashesClearedTotal": 0,
        "drainingHashesUnackedMessages": sum(entry.entries for entry in draining),
    }


def _hashes_of(stats: ConsumerStats) -> dict[str, Any]:
    """The hashes of a Key_Shared consumer; how often a hash blocked others is not counted."""
    if stats.hash_ranges is None:
        return {}
    hashes = [{"hash": entry.sticky_hash, "unackMsgs": entry.entries, "blockedAttempts": 0} for entry in stats.draining]
    return {"drainingHashes": hashes}


def _ranges_of(stats: ConsumerStats) -> dict[str, Any]:
    """The ranges twice: for newer tools as objects, for older ones as strings."""
    if stats.hash_ranges is None:
        return {}
    ranges = [list(bounds) for bounds in stats.hash_ranges]
    return {"keyHashRangeArrays": ranges, "keyHashRanges": [str(bounds) for bounds in ranges]}


def _outgoing(stats: SubscriptionStats | ConsumerStats) -> dict[str, Any]:
    traffic = stats.traffic
    return {
        "msgRateOut": traffic.message_rate,
        "msgThroughputOut": traffic.byte_rate,
        "bytesOutCounter": traffic.bytes,
        "msgOutCounter": traffic.messages,
        "msgRateRedeliver": stats.redelivery_rate,
        "messageAckRate": stats.ack_rate,
        "chunkedMessageRate": 0.0,
    }


def consumer_body(stats: ConsumerStats) -> dict[str, Any]:
    return {
        **_outgoing(stats),
        "consumerName": stats.name,
        "availablePermits": stats.permits,
        "unackedMessages": stats.unacked_messages,
        "avgMessagesPerEntry": stats.messages_per_entry,
        "blockedConsumerOnUnackedMsgs": stats.blocked,
        **_draining(stats.draining),
        **_hashes_of(stats),
        "address": stats.address,
        "connectedSince": iso(stats.connected_since_ms),
        "clientVersion": stats.client_version,
        "lastAckedTimestamp": stats.last_acked_ms,
        "lastConsumedTimestamp": stats.last_consumed_ms,
        "lastConsumedFlowTimestamp": stats.last_flow_ms,
        **_ranges_of(stats),
        "metadata": dict(stats.metadata),
        "lastAckedTime": iso(stats.last_acked_ms),
        "lastConsumedTime": iso(stats.last_consumed_ms),
    }
