"""The values of policies as Pulsar's documents have them, for files and for editors. Pure.

A default is what Pulsar stores for a member that a request leaves out.
"""

from pulsarctl.values.shapes import REQUIRED, Fields, Member, Named, Names, Number, Text, Truth, Unit

COUNT = Number()
SIZE = Number(Unit.SIZE)
SECONDS = Number(Unit.SECONDS)
MINUTES = Number(Unit.MINUTES)
UNLIMITED_SIZE = Number(Unit.SIZE, least=-1)
UNLIMITED_MILLISECONDS = Number(Unit.MILLISECONDS, least=-1)
RATE = Number(least=-1)
MSG_RATE = Number(whole=False)
BYTE_RATE = Number(Unit.SIZE, whole=False)
PERIOD = Number()  # tools send 0 for a period that they leave out; the broker takes it for 1 s
SWITCH = Truth()
NAMES = Names()

RETENTION = Fields(
    (
        Member("retentionTimeInMinutes", Number(Unit.MINUTES, least=-1), REQUIRED, "Time; -1 means no limit."),
        Member("retentionSizeInMB", Number(Unit.MEBIBYTES, least=-1), REQUIRED, "Size; -1 means no limit."),
    )
)
QUOTA_POLICIES = ("producer_request_hold", "producer_exception", "consumer_backlog_eviction")
_QUOTA = Fields(
    (
        Member("limitSize", UNLIMITED_SIZE, -1, "Maximum size of the backlog."),
        Member("limitTime", Number(Unit.SECONDS, least=-1), -1, "Maximum age of the backlog."),
        Member("policy", Text(QUOTA_POLICIES), REQUIRED, "Action above the quota."),
    )
)
QUOTA_TYPES = ("destination_storage", "message_age")
BACKLOG_QUOTA = Fields(tuple(Member(name, _QUOTA) for name in QUOTA_TYPES), "type of quota")
PERSISTENCE = Fields(
    (
        Member("bookkeeperEnsemble", Number(least=1), 2),
        Member("bookkeeperWriteQuorum", Number(least=1), 2),
        Member("bookkeeperAckQuorum", Number(least=1), 2),
        Member("managedLedgerMaxMarkDeleteRate", Number(whole=False), 0),
    )
)
PUBLISH_RATE = Fields((Member("publishThrottlingRateInMsg", RATE, -1), Member("publishThrottlingRateInByte", RATE, -1)))
DISPATCH_RATE = Fields(
    (
        Member("dispatchThrottlingRateInMsg", RATE, -1),
        Member("dispatchThrottlingRateInByte", RATE, -1),
        Member("relativeToPublishRate", SWITCH, False),
        Member("ratePeriodInSecond", PERIOD, 1),
    )
)
SUBSCRIBE_RATE = Fields(
    (Member("subscribeThrottlingRatePerConsumer", RATE, -1), Member("ratePeriodInSecond", PERIOD, 30))
)
DELAYED_DELIVERY = Fields(
    (
        Member("active", SWITCH, REQUIRED),
        Member("tickTime", Number(Unit.MILLISECONDS), 1000),
        Member("maxDeliveryDelayInMillis", Number(Unit.MILLISECONDS), 0),
    )
)
SUBSCRIPTION_TYPES = Names(("Exclusive", "Shared", "Failover", "Key_Shared"))
ENTRY_FILTERS = Fields((Member("entryFilterNames", Text(), REQUIRED, "Comma-separated names of filters."),))
DELETE_MODES = ("delete_when_no_subscriptions", "delete_when_subscriptions_caught_up")
INACTIVE_TOPICS = Fields(
    (
        Member("inactiveTopicDeleteMode", Text(DELETE_MODES), REQUIRED),
        Member("maxInactiveDurationSeconds", SECONDS, REQUIRED),
        Member("deleteWhileInactive", SWITCH, REQUIRED),
    )
)
TOPIC_TYPES = ("non-partitioned", "partitioned")
AUTO_TOPIC_CREATION = Fields(
    (
        Member("allowAutoTopicCreation", SWITCH, REQUIRED),
        Member("topicType", Text(TOPIC_TYPES)),
        Member("defaultNumPartitions", Number(least=1)),
    )
)
AUTO_SUBSCRIPTION_CREATION = Fields((Member("allowAutoSubscriptionCreation", SWITCH, REQUIRED),))
_SPLIT, _MERGE = "above this the broker splits", "below this in all four rates the broker may merge"
AUTO_SCALE = Fields(
    (
        Member("enabled", SWITCH, help="Let the broker split and merge segments by itself."),
        Member("minSegments", Number(least=1), help="Minimum number of active segments."),
        Member("maxSegments", Number(least=1), help="Maximum number of active segments."),
        Member("maxDagDepth", COUNT, help="Maximum number of merges between a segment and its oldest ancestor."),
        Member("splitCooldownSeconds", SECONDS, help="Minimum time between two splits."),
        Member("mergeCooldownSeconds", SECONDS, help="Minimum time between two merges."),
        Member("mergeWindowSeconds", SECONDS, help="Time for which segments must be idle before a merge."),
        Member("splitMsgRateInThreshold", MSG_RATE, help=f"Messages per second into a segment; {_SPLIT} it."),
        Member("splitBytesRateInThreshold", BYTE_RATE, help=f"Bytes per second into a segment; {_SPLIT} it."),
        Member("splitMsgRateOutThreshold", MSG_RATE, help=f"Messages per second out of a segment; {_SPLIT} it."),
        Member("splitBytesRateOutThreshold", BYTE_RATE, help=f"Bytes per second out of a segment; {_SPLIT} it."),
        Member("mergeMsgRateInThreshold", MSG_RATE, help=f"Messages per second into a segment; {_MERGE} it."),
        Member("mergeBytesRateInThreshold", BYTE_RATE, help=f"Bytes per second into a segment; {_MERGE} it."),
        Member("mergeMsgRateOutThreshold", MSG_RATE, help=f"Messages per second out of a segment; {_MERGE} it."),
        Member("mergeBytesRateOutThreshold", BYTE_RATE, help=f"Bytes per second out of a segment; {_MERGE} it."),
        Member("rebucketCooldownSeconds", SECONDS, help="Minimum time between two changes of entry buckets."),
        Member(
            "splitVsRebucketMinMsgRateInThreshold",
            MSG_RATE,
            help="Messages per second into a segment; below this, the broker changes buckets instead of splitting it.",
        ),
    ),
    "field of an auto-scale policy",
)
STRATEGIES = (
    "UNDEFINED",
    "ALWAYS_INCOMPATIBLE",
    "ALWAYS_COMPATIBLE",
    "BACKWARD",
    "FORWARD",
    "FULL",
    "BACKWARD_TRANSITIVE",
    "FORWARD_TRANSITIVE",
    "FULL_TRANSITIVE",
)
STRATEGY = Text(STRATEGIES)
AUTO_UPDATE_STRATEGY = Text(
    (
        "AutoUpdateDisabled",
        "Backward",
        "Forward",
        "Full",
        "AlwaysCompatible",
        "BackwardTransitive",
        "ForwardTransitive",
        "FullTransitive",
    )
)
DRIVERS = ("S3", "aws-s3", "google-cloud-storage", "filesystem", "azureblob", "aliyun-oss")
PRIORITIES = ("tiered-storage-first", "bookkeeper-first")
_OFFLOAD_NUMBERS = {  # with the values that Pulsar shows where they are not set
    "managedLedgerOffloadMaxThreads": 2,
    "managedLedgerOffloadReadThreads": 2,
    "managedLedgerOffloadPrefetchRounds": 1,
    "s3ManagedLedgerOffloadMaxBlockSizeInBytes": 64 << 20,
    "s3ManagedLedgerOffloadReadBufferSizeInBytes": 1 << 20,
    "gcsManagedLedgerOffloadMaxBlockSizeInBytes": 128 << 20,
    "gcsManagedLedgerOffloadReadBufferSizeInBytes": 1 << 20,
    "managedLedgerOffloadMaxBlockSizeInBytes": None,
    "managedLedgerOffloadReadBufferSizeInBytes": None,
}
_OFFLOAD_TEXTS = (
    "s3ManagedLedgerOffloadRegion",
    "s3ManagedLedgerOffloadBucket",
    "s3ManagedLedgerOffloadServiceEndpoint",
    "s3ManagedLedgerOffloadCredentialId",
    "s3ManagedLedgerOffloadCredentialSecret",
    "s3ManagedLedgerOffloadRole",
    "gcsManagedLedgerOffloadRegion",
    "gcsManagedLedgerOffloadBucket",
    "gcsManagedLedgerOffloadServiceAccountKeyFile",
    "fileSystemProfilePath",
    "fileSystemURI",
    "managedLedgerOffloadBucket",
    "managedLedgerOffloadRegion",
    "managedLedgerOffloadServiceEndpoint",
)
OFFLOAD = Fields(
    (
        Member("managedLedgerOffloadDriver", Text(DRIVERS)),
        Member("managedLedgerOffloadThresholdInBytes", UNLIMITED_SIZE),
        Member("managedLedgerOffloadThresholdInSeconds", Number(Unit.SECONDS, least=-1)),
        Member("managedLedgerOffloadDeletionLagInMillis", UNLIMITED_MILLISECONDS),
        Member("managedLedgerOffloadedReadPriority", Text(PRIORITIES), implied=PRIORITIES[0]),
        Member("s3ManagedLedgerOffloadRoleSessionName", Text(), implied="pulsar-s3-offload"),
        *(Member(name, COUNT, implied=shown) for name, shown in _OFFLOAD_NUMBERS.items()),
        *(Member(name, Text()) for name in _OFFLOAD_TEXTS),
    )
)
ACTIONS = ("produce", "consume", "functions", "sources", "sinks", "packages")
PERMISSIONS = Named(Names(ACTIONS, least=1), "role")
