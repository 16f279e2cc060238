"""Values that each policy can have, as a person writes them and as an export has them."""

from typing import Any

COUNTS = [0, 5, 1000]
RATE = {
    "dispatchThrottlingRateInMsg": 100,
    "dispatchThrottlingRateInByte": -1,
    "relativeToPublishRate": False,
    "ratePeriodInSecond": 1,
}
RATES = [RATE, RATE | {"dispatchThrottlingRateInByte": 4096, "relativeToPublishRate": True, "ratePeriodInSecond": 7}]
SIZE_QUOTA = {"limitSize": 10 << 20, "limitTime": -1, "policy": "producer_exception"}
AGE_QUOTA = {"limitSize": -1, "limitTime": 600, "policy": "consumer_backlog_eviction"}
INACTIVE = {
    "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
    "maxInactiveDurationSeconds": 600,
    "deleteWhileInactive": True,
}
COPIES = {
    "bookkeeperEnsemble": 3,
    "bookkeeperWriteQuorum": 2,
    "bookkeeperAckQuorum": 1,
    "managedLedgerMaxMarkDeleteRate": 0.5,
}
OFFLOAD = {"managedLedgerOffloadDriver": "filesystem", "fileSystemURI": "file:///var/lib/offload"}

BOTH: dict[str, list[Any]] = {
    "message-ttl": [0, 60, 86_400],
    "retention": [
        {"retentionTimeInMinutes": 60, "retentionSizeInMB": 512},
        {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1},
    ],
    "compaction-threshold": [0, 100 << 20],
    "backlog-quota": [
        {"destination_storage": SIZE_QUOTA},
        {"message_age": AGE_QUOTA},
        {"destination_storage": SIZE_QUOTA | {"limitSize": 1}, "message_age": AGE_QUOTA},
    ],
    "persistence": [COPIES, COPIES | {"managedLedgerMaxMarkDeleteRate": 2}],
    "offload-policies": [OFFLOAD, OFFLOAD | {"managedLedgerOffloadThresholdInBytes": 1 << 30}],
    "dispatcher-pause-on-ack-state-persistent": [True],
    "deduplication": [True, False],
    "deduplication-snapshot-interval": [30, 60],
    "delayed-delivery": [
        {"active": True, "tickTime": 250, "maxDeliveryDelayInMillis": 3_600_000},
        {"active": False, "tickTime": 1000, "maxDeliveryDelayInMillis": 0},
    ],
    "subscription-types-enabled": [["Shared"], ["Exclusive", "Key_Shared"]],
    "publish-rate": [{"publishThrottlingRateInMsg": 10, "publishThrottlingRateInByte": -1}],
    "dispatch-rate": RATES,
    "subscription-dispatch-rate": RATES,
    "replicator-dispatch-rate": RATES,
    "subscribe-rate": [{"subscribeThrottlingRatePerConsumer": 3, "ratePeriodInSecond": 60}],
    "max-consumers-per-subscription": COUNTS,
    "max-unacked-messages-per-consumer": COUNTS,
    "max-unacked-messages-per-subscription": COUNTS,
    "inactive-topic-policies": [INACTIVE, INACTIVE | {"deleteWhileInactive": False}],
    "auto-subscription-creation": [
        {"allowAutoSubscriptionCreation": True},
        {"allowAutoSubscriptionCreation": False},
    ],
    "subscription-expiration-time": [0, 60],
    "schema-compatibility-strategy": ["FULL", "BACKWARD"],
    "schema-validation-enforce": [True],
}
OF_NAMESPACES: dict[str, list[Any]] = BOTH | {
    "entry-filters": [],  # this broker has none, and refuses their names
    "encryption-required": [True],
    "max-producers-per-topic": COUNTS,
    "max-consumers-per-topic": COUNTS,
    "max-subscriptions-per-topic": [0, 500],
    "max-topics-per-namespace": [500],
    "auto-topic-creation": [
        {"allowAutoTopicCreation": True, "topicType": "partitioned", "defaultNumPartitions": 3},
        {"allowAutoTopicCreation": True, "topicType": "non-partitioned"},
    ],
    "schema-autoupdate-strategy": ["Backward", "AlwaysCompatible"],
    "is-allow-auto-update-schema": [False],
    "replication-clusters": [],  # test_changes has them: they need a tenant that may use several
    "subscription-auth-mode": ["Prefix"],
    "allowed-topic-property-keys-for-metrics": [["owner", "team"]],
    "scalable-topic-auto-scale-policy": [
        {"enabled": False},
        {"maxSegments": 8, "mergeWindowSeconds": 600, "splitMsgRateInThreshold": 20_000, "rebucketCooldownSeconds": 5},
    ],
}
OF_TOPICS: dict[str, list[Any]] = BOTH | {
    "entry-filters-per-topic": [],
    "replication-clusters": [["standalone"]],
    "max-producers": COUNTS,
    "max-consumers": COUNTS,
    "max-subscriptions": [0, 500],
    "max-message-size": [1024, 1 << 20],
}
