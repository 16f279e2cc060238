"""The options of a producer and its messages."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pulsarctl.admin.schemas import SchemaInfo
from pulsarctl.client.publish_window import PENDING_MESSAGES_MAX

BATCH_MESSAGES_MAX = 1000
BATCH_BYTES_MAX = 128 * 1024
BATCH_DELAY_MS = 5


@dataclass(frozen=True, slots=True)
class PublishOptions:
    """Times are in milliseconds. `event_time_ms` and `deliver_at_ms` are 0 if not set."""

    properties: Mapping[str, str] = field(default_factory=dict)
    ordering_key: str | None = None
    event_time_ms: int = 0
    deliver_at_ms: int = 0
    compression: str = "none"
    batching: bool = True
    batch_messages_max: int = BATCH_MESSAGES_MAX
    batch_bytes_max: int = BATCH_BYTES_MAX
    batch_delay_ms: int = BATCH_DELAY_MS
    pending_messages_max: int = 2 * PENDING_MESSAGES_MAX  # `PublishWindow` keeps us below it
    chunking: bool = False
    disable_replication: bool = False
    producer_name: str | None = None
    access_mode: str = "shared"
    first_sequence_id: int | None = None
    encryption_key_name: str | None = None
    encryption_key_path: str | None = None
    send_timeout_ms: int = 30_000
    schema: SchemaInfo | None = None  # the producer's; messages are already encoded
