"""The values in force where neither a namespace nor a topic has a policy."""

from broker_core.config.frozen import frozen
from broker_core.config.setting import setting

MOST_BUNDLES = 65_536


@frozen
class PolicyConfig:
    """Defaults of policies."""

    retention_minutes: int = setting(
        "defaultRetentionTimeInMinutes", 0, "Time to retain acknowledged messages (min); -1 means no limit.", least=-1
    )
    retention_mb: int = setting(
        "defaultRetentionSizeInMB", 0, "Size of acknowledged messages to retain (MB); -1 means no limit.", least=-1
    )
    open_ledger_seconds: int = setting(
        "retentionOpenLedgerSeconds",
        60,
        "Time to keep the newest ledger readable after its last message, on topics without a retention policy (s).",
        least=0,
    )
    ttl_seconds: int = setting(
        "ttlDurationDefaultInSeconds",
        0,
        "Age at which the broker acknowledges messages that consumers have not (s); 0 is never.",
        least=0,
    )
    clock_tolerance_seconds: int = setting(
        "expiryClockToleranceSeconds",
        60,
        "Maximum lead of the wall clock over elapsed time (s); above it, messages expire by elapsed time.",
        least=1,
    )
    clock_proof_seconds: int = setting(
        "expiryClockProofSeconds",
        3600,
        "Time for which a clock that jumped ahead must stay consistent before messages expire by it (s).",
        least=0,
    )
    compaction_threshold: int = setting(
        "brokerServiceCompactionThresholdInBytes",
        0,
        "Backlog at which the broker compacts a topic (bytes); 0 is never.",
        least=0,
    )
    retain_null_key: bool = setting(
        "topicCompactionRetainNullKey", False, "Whether compaction retains messages without a key."
    )
    force_delete_tenant: bool = setting(
        "forceDeleteTenantAllowed", False, "Whether a tenant can be deleted together with its namespaces.", dynamic=True
    )
    force_delete_namespace: bool = setting(
        "forceDeleteNamespaceAllowed",
        False,
        "Whether a namespace can be deleted together with its topics.",
        dynamic=True,
    )
    topic_policies: bool = setting("topicLevelPoliciesEnabled", True, "Whether topics can have their own policies.")
    default_bundles: int = setting(
        "defaultNumberOfNamespaceBundles", 4, "Number of bundles of a new namespace.", least=1, dynamic=True
    )
    most_bundles: int = setting(
        "maxNumberOfNamespaceBundles",
        4096,
        "Maximum number of bundles of a new namespace.",
        least=1,
        most=MOST_BUNDLES,
    )
