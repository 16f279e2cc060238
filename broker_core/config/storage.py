"""Journal, ledgers, their files, and the memory for them."""

from broker_core.config.frozen import frozen
from broker_core.config.setting import setting


@frozen
class StorageConfig:
    """The storage engine's section; `broker_core.storage` knows nothing else of this package."""

    journal_directory: str = setting(
        "journalDirectory", "", "Directory of the journal; empty puts it in the data directory."
    )
    journal_sync: bool = setting(
        "journalSyncData", True, "Whether the broker syncs the journal to disk (fsync) before it confirms a message."
    )
    journal_pace_ms: float = setting(
        "journalMaxGroupWaitMSec",
        5.0,
        "Maximum pause between journal syncs while batches keep arriving (ms); a tenth of it at moderate rates.",
        least=0,
    )
    journal_max_mb: int = setting(
        "journalMaxSizeMB", 256, "Maximum size of the journal between two checkpoints (MB).", least=1
    )
    checkpoint_seconds: float = setting(
        "flushInterval", 60.0, "Maximum time between two checkpoints (ms).", scale=0.001, least=0.01
    )
    max_entries_per_ledger: int = setting(
        "managedLedgerMaxEntriesPerLedger", 50_000, "Number of entries at which a ledger rolls over.", least=1
    )
    max_ledger_mb: int = setting(
        "managedLedgerMaxSizePerLedgerMbytes", 2048, "Size at which a ledger rolls over (MB).", least=1
    )
    min_rollover_minutes: float = setting(
        "managedLedgerMinLedgerRolloverTimeMinutes",
        0,
        "Minimum age of a ledger before its entries or size can roll it over (min).",
        least=0,
    )
    max_rollover_minutes: float = setting(
        "managedLedgerMaxLedgerRolloverTimeMinutes", 240, "Age at which a ledger with entries rolls over (min)."
    )
    write_buffer_mb: int = setting(
        "maxMessagePublishBufferSizeInMB",
        32,
        "Accepted data that is not in a ledger file yet, above which producers wait (MB).",
        least=1,
    )
    cache_mb: int = setting("managedLedgerCacheSizeMB", 32, "Memory for recently written entries (MB).", least=0)
    index_cache_mb: int = setting(
        "ledgerIndexCacheSizeMB", 16, "Memory for the indexes of sealed ledgers (MB).", least=0
    )
    open_files: int = setting(
        "ledgerOpenFilesLimit",
        64,
        "Maximum number of ledger files to keep open; never more than a quarter of the process's limit.",
        least=1,
    )
    ack_flush_ms: int = setting(
        "managedLedgerCursorPositionFlushMillis",
        500,
        "Maximum time before an acknowledgment is written to the journal (ms).",
        least=0,
    )
    auto_skip_lost: bool = setting(
        "autoSkipNonRecoverableData",
        False,
        "Whether readers skip entries that cannot be read; if not, they wait until an operator accepts the loss.",
    )
    reserve_mb: int = setting(
        "diskReserveMB",
        8,
        "Disk space to keep for acknowledgments when the disk is full, and as much again for a start then (MB).",
        least=0,
    )
