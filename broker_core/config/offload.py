"""The section of the configuration for tiered storage; read `config.broker` first.

A namespace or a topic can replace the store and the thresholds with its offload policies.
"""

from broker_core.config.frozen import frozen
from broker_core.config.setting import setting

DEFAULT_LAG_MS = 4 * 60 * 60 * 1000
TIERED_FIRST, LOCAL_FIRST = "tiered-storage-first", "bookkeeper-first"


@frozen
class OffloadConfig:
    """Tiered storage: where copies go, and when."""

    driver: str = setting(
        "managedLedgerOffloadDriver",
        "",
        "Store of offloaded ledgers: filesystem, aws-s3, S3, google-cloud-storage, or azureblob; empty is none.",
    )
    max_threads: int = setting(
        "managedLedgerOffloadMaxThreads",
        2,
        "Maximum number of topics that offload at a time, each in a process of its own.",
        least=1,
    )
    read_threads: int = setting(
        "managedLedgerOffloadReadThreads", 2, "Maximum number of reads from stores at a time.", least=1
    )
    prefetch_rounds: int = setting(
        "managedLedgerOffloadPrefetchRounds",
        1,
        "Number of row groups (about 1 MB each) of an offloaded ledger to read ahead.",
        least=0,
    )
    allowed_stores: str = setting(
        "offloadAllowedStores",
        "",
        "Stores that offload policies may name besides that of this file, such as file:///DIRECTORY or"
        " s3://BUCKET/PREFIX?endpoint_override=HOST:PORT, separated by commas; * allows every store.",
    )
    threshold_bytes: int = setting(
        "managedLedgerOffloadAutoTriggerSizeThresholdBytes",
        -1,
        "Size of a topic's newest ledgers that stay local when the broker offloads (bytes); below 0 is never.",
    )
    threshold_seconds: int = setting(
        "managedLedgerOffloadThresholdInSeconds",
        -1,
        "Time after which the broker offloads a sealed ledger (s); below 0 is never.",
    )
    deletion_lag_ms: int = setting(
        "managedLedgerOffloadDeletionLagMs",
        DEFAULT_LAG_MS,
        "Time after which the broker deletes the local file of an offloaded ledger (ms); below 0 is never.",
    )
    read_priority: str = setting(
        "managedLedgerDataReadPriority",
        LOCAL_FIRST,
        "What the broker reads while an offloaded ledger still has its local file.",
        choices=(TIERED_FIRST, LOCAL_FIRST),
    )
    read_cache_mb: int = setting(
        "offloadReadCacheSizeMB",
        16,
        "Memory for row groups of offloaded ledgers (MB); one request of a reader that goes forward gets up to half of"
        " it.",
        least=1,
    )
    open_objects: int = setting(
        "offloadOpenObjectsLimit", 32, "Maximum number of offloaded ledgers to keep open.", least=1
    )
    upload_mb_per_second: float = setting(
        "offloadMaxUploadRateInMBPerSecond", 0, "Maximum upload rate of one topic (MB/s); 0 means no limit.", least=0
    )
    connect_timeout_ms: int = setting(
        "offloadConnectTimeoutMs", 10_000, "Maximum time for a connection to a store (ms).", least=1
    )
    request_timeout_ms: int = setting(
        "offloadRequestTimeoutMs", 30_000, "Maximum time without data from a store (ms).", least=1
    )
    sweep_seconds: float = setting(
        "offloadRemovalIntervalSeconds",
        60,
        "Interval at which the broker tries again to remove objects of deleted ledgers (s).",
        least=0.01,
    )
    table_format: str = setting(
        "offloadTableFormat",
        "",
        "Also write the messages of offloaded ledgers to a table for each topic; empty means no table.",
        choices=("", "iceberg"),
    )
    table_catalog: str = setting(
        "offloadTableCatalog",
        "",
        "Catalog of the tables of offloaded messages: sqlite:///FILE, or the URL of a REST catalog; empty is"
        " tables.sqlite in the data"
        " directory.",
    )
    filesystem_uri: str = setting(
        "fileSystemURI", "", "Directory for the driver filesystem, such as file:///var/lib/pulsarctl-offload."
    )
    s3_bucket: str = setting("s3ManagedLedgerOffloadBucket", "", "Bucket for the driver aws-s3, perhaps with a prefix.")
    s3_region: str = setting("s3ManagedLedgerOffloadRegion", "", "Region of the bucket for the driver aws-s3.")
    s3_endpoint: str = setting(
        "s3ManagedLedgerOffloadServiceEndpoint", "", "Endpoint for the driver aws-s3; empty is that of the region."
    )
    s3_role: str = setting("s3ManagedLedgerOffloadRole", "", "Role that the driver aws-s3 assumes.")
    s3_session: str = setting(
        "s3ManagedLedgerOffloadRoleSessionName",
        "pulsar-s3-offload",
        "Session name with which the driver aws-s3 assumes its role.",
    )
    gcs_bucket: str = setting("gcsManagedLedgerOffloadBucket", "", "Bucket for the driver google-cloud-storage.")
    gcs_key_file: str = setting(
        "gcsManagedLedgerOffloadServiceAccountKeyFile", "", "Service account key for the driver google-cloud-storage."
    )
    bucket: str = setting("managedLedgerOffloadBucket", "", "Bucket for the drivers S3 and azureblob.")
    region: str = setting("managedLedgerOffloadRegion", "", "Region for the driver S3.")
    endpoint: str = setting(
        "managedLedgerOffloadServiceEndpoint",
        "",
        "Endpoint for the drivers S3, google-cloud-storage, and azureblob; empty is that of the provider.",
    )
