"""The section of the configuration for dispatch: which consumer gets which messages. Read `config` first."""

from broker_core.config.frozen import frozen
from broker_core.config.setting import MB, setting


@frozen
class DispatchConfig:
    """Which consumer gets which messages, and how many at a time."""

    read_batch_entries: int = setting(
        "dispatcherMaxReadBatchSize", 1000, "Maximum number of entries per read for consumers.", least=1, dynamic=True
    )
    read_batch_bytes: int = setting(
        "dispatcherMaxReadSizeBytes", MB // 4, "Maximum number of bytes per read for consumers.", least=1, dynamic=True
    )
    round_robin_messages: int = setting(
        "dispatcherMaxRoundRobinBatchSize",
        20,
        "Maximum number of messages for one consumer of a Shared subscription before the next consumer's turn.",
        least=1,
        dynamic=True,
    )
    max_unacked_per_consumer: int = setting(
        "maxUnackedMessagesPerConsumer",
        50_000,
        "Unacknowledged messages at which the broker stops sending to a consumer; 0 means no limit.",
        least=0,
    )
    max_unacked_per_subscription: int = setting(
        "maxUnackedMessagesPerSubscription",
        200_000,
        "Unacknowledged messages at which the broker stops sending to a subscription; 0 means no limit.",
        least=0,
    )
    max_unacked_per_broker: int = setting(
        "maxUnackedMessagesPerBroker",
        0,
        "Unacknowledged messages in the broker at which it blocks the subscriptions with most of them;"
        " 0 means no limit.",
        least=0,
    )
    blocked_share: float = setting(
        "maxUnackedMessagesPerSubscriptionOnBrokerBlocked",
        0.16,
        "Share of maxUnackedMessagesPerBroker above which a subscription is blocked at that limit.",
        least=0,
        most=1,
    )
    key_shared: bool = setting(
        "subscriptionKeySharedEnable", True, "Whether Key_Shared subscriptions are allowed.", dynamic=True
    )
    consistent_hashing: bool = setting(
        "subscriptionKeySharedUseConsistentHashing",
        True,
        "Whether Key_Shared assigns keys by consistent hashing; if not, it splits the widest hash range.",
    )
    points_per_consumer: int = setting(
        "subscriptionKeySharedConsistentHashingReplicaPoints",
        100,
        "Number of points per consumer on the consistent hashing ring.",
        least=1,
    )
    look_ahead_per_consumer: int = setting(
        "keySharedLookAheadMsgInReplayThresholdPerConsumer",
        2000,
        "Entries per consumer that wait for busy keys or consumers, at which Key_Shared stops reading ahead; "
        "0 means no limit.",
        least=0,
        dynamic=True,
    )
    look_ahead_per_subscription: int = setting(
        "keySharedLookAheadMsgInReplayThresholdPerSubscription",
        20_000,
        "Entries per subscription that wait for busy keys or consumers, at which Key_Shared stops reading ahead; 0"
        " means no limit.",
        least=0,
        dynamic=True,
    )
    unblocking_ms: float = setting(
        "keySharedUnblockingIntervalMs",
        10,
        "Time to collect keys that become free before their new consumers get them (ms).",
        least=0,
        dynamic=True,
    )
    failover_delay_ms: float = setting(
        "activeConsumerFailoverDelayTimeMillis",
        1000,
        "Time that a new active consumer waits for acknowledgments of the previous one (ms).",
        least=0,
    )
    failover_consistent_hashing: bool = setting(
        "activeConsumerFailoverConsistentHashing",
        False,
        "Whether a partition's active consumer is chosen by consistent hashing; if not, by its partition number.",
    )
