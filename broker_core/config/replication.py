"""The section of the configuration for geo-replication. Read `config` first. Keys and defaults are Pulsar's."""

from broker_core.config.frozen import frozen
from broker_core.config.setting import MB, setting


@frozen
class ReplicationConfig:
    """Copies of topics in other clusters."""

    queue_size: int = setting(
        "replicationProducerQueueSize",
        1000,
        "Maximum number of entries of a topic that are on their way to another cluster.",
        least=1,
    )
    read_bytes: int = setting(
        "replicationReadSizeBytes",
        MB // 4,
        "Bytes that a replicator reads and sends at a time; an entry may be larger.",
        least=1,
    )
    start_at: str = setting(
        "replicationStartAt",
        "latest",
        "Where the replication of a topic to a new cluster begins: latest, earliest, or ledger:entry.",
    )
    create_topics: bool = setting(
        "createTopicToRemoteClusterForReplication",
        True,
        "Whether replicators create topics and partitions that are missing in another cluster.",
    )
    rate_messages: int = setting(
        "dispatchThrottlingRatePerReplicatorInMsg",
        0,
        "Maximum rate of a topic to one other cluster (entries/s); 0 means no limit.",
        dynamic=True,
    )
    rate_bytes: int = setting(
        "dispatchThrottlingRatePerReplicatorInByte",
        0,
        "Maximum rate of a topic to one other cluster (bytes/s); 0 means no limit.",
        dynamic=True,
    )
    subscriptions: bool = setting(
        "enableReplicatedSubscriptions",
        True,
        "Whether subscriptions can follow those of the same name in other clusters.",
    )
    snapshot_ms: int = setting(
        "replicatedSubscriptionsSnapshotFrequencyMillis",
        1000,
        "Interval at which a topic with replicated subscriptions takes a snapshot of its positions in all clusters"
        " (ms).",
        least=10,
    )
    snapshot_timeout_seconds: int = setting(
        "replicatedSubscriptionsSnapshotTimeoutSeconds",
        30,
        "Maximum time for the other clusters to answer a snapshot request (s).",
        least=1,
    )
    snapshots_cached: int = setting(
        "replicatedSubscriptionsSnapshotMaxCachedPerSubscription",
        30,
        "Maximum number of snapshots that a replicated subscription keeps until it passes them.",
        least=1,
    )
    metrics: bool = setting("replicationMetricsEnabled", True, "Whether /metrics shows replicators.")
