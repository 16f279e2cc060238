"""The section of the configuration that says who gets which messages. Read `config` first."""

from dataclasses import dataclass

from broker_core.config.setting import MB, setting


@dataclass(frozen=True, slots=True)
class DispatchConfig:
    read_batch_entries: int = setting(
        "dispatcherMaxReadBatchSize", 1000, "Entries read for consumers at a time.", least=1
    )
    read_batch_bytes: int = setting(
        "dispatcherMaxReadSizeBytes", MB // 4, "Bytes read for consumers at a time.", least=1
    )
    round_robin_messages: int = setting(
        "dispatcherMaxRoundRobinBatchSize",
        20,
        "Messages a consumer of a Shared subscription gets in its turn.",
        least=1,
    )
    max_unacked_per_consumer: int = setting(
        "maxUnackedMessagesPerConsumer",
        50_000,
        "Unacknowledged messages at which a consumer gets no more; 0 is no limit.",
        least=0,
    )
    max_unacked_per_subscription: int = setting(
        "maxUnackedMessagesPerSubscription",
        200_000,
        "Unacknowledged messages at which dispatch stops; 0 is no limit.",
        least=0,
    )
    max_unacked_per_broker: int = setting(
        "maxUnackedMessagesPerBroker",
        0,
        "Unacknowledged messages at which the subscriptions that have many of them get no more; 0 is no limit.",
        least=0,
    )
    blocked_share: float = setting(
        "maxUnackedMessagesPerSubscriptionOnBrokerBlocked",
        0.16,
        "Share of maxUnackedMessagesPerBroker that is many for one subscription.",
        least=0,
        most=1,
    )
    key_shared: bool = setting("subscriptionKeySharedEnable", True, "Whether Key_Shared subscriptions are allowed.")
    consistent_hashing: bool = setting(
        "subscriptionKeySharedUseConsistentHashing",
        True,
        "Whether Key_Shared divides keys by a ring of hashes, instead of by splitting the widest range.",
    )
    points_per_consumer: int = setting(
        "subscriptionKeySharedConsistentHashingReplicaPoints", 100, "Points of a consumer on that ring.", least=1
    )
    look_ahead_per_consumer: int = setting(
        "keySharedLookAheadMsgInReplayThresholdPerConsumer",
        2000,
        "Entries that wait for busy keys or consumers, per consumer, at which Key_Shared reads no further; "
        "0 is no limit.",
        least=0,
    )
    look_ahead_per_subscription: int = setting(
        "keySharedLookAheadMsgInReplayThresholdPerSubscription",
        20_000,
        "The same for all consumers together; 0 is no limit.",
        least=0,
    )
    unblocking_ms: float = setting(
        "keySharedUnblockingIntervalMs",
        10,
        "How long to gather keys that become free before their new consumers get them (ms).",
        least=0,
    )
    failover_delay_ms: float = setting(
        "activeConsumerFailoverDelayTimeMillis",
        1000,
        "How long a new active consumer waits for what the last one still acknowledges (ms).",
        least=0,
    )
    failover_consistent_hashing: bool = setting(
        "activeConsumerFailoverConsistentHashing",
        False,
        "Whether the active consumer of a partition is found on a ring of hashes, instead of by its number.",
    )
