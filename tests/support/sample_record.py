"""A record with every field set."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class SampleRecord:
    topic: str = "persistent://public/default/orders-partition-3"
    partition: int = 3
    ledger_id: int = 12
    entry_id: int = 34
    batch_index: int = 5
    key: bytes | None = b"k"
    ordering_key: bytes | None = b"o"
    value: bytes | None = b"hello"
    properties: Mapping[str, str] = field(default_factory=lambda: {"b": "2", "a": "1"})
    publish_time_ms: int = 1_700_000_000_123
    event_time_ms: int = 0
    producer_name: str = "standalone-0-1"
    redelivery_count: int = 2
    schema_version: bytes = b""
    index: int | None = 99
    sequence_id: int | None = 7
    deliver_at_ms: int | None = None
    replicated_from: str | None = None
    compression: str = "lz4"
    encryption_keys: tuple[str, ...] = ()
    error: str | None = None

    @property
    def pair_key(self) -> bytes | None:
        return self.key
