"""The options of a subscription and its consumer."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


class Settlement(enum.Enum):
    """The action on a message after it is printed."""

    ACKNOWLEDGE = "acknowledge"
    NACK = "nack"  # acknowledge negatively: the message is redelivered after the delay
    LEAVE = "leave"  # the message is redelivered after the consumer closes


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """After `max_redeliveries`, a message goes to `topic`. None: the client's default, `TOPIC-SUBSCRIPTION-DLQ`."""

    max_redeliveries: int
    topic: str | None = None


@dataclass(frozen=True, slots=True)
class KeySharing:
    """How Key_Shared assigns keys: automatically, or with this consumer's `hash_ranges` (inclusive)."""

    hash_ranges: tuple[tuple[int, int], ...] = ()
    allow_out_of_order: bool = False


@dataclass(frozen=True, slots=True)
class SubscribeOptions:
    """`queue_size` is the number of messages to fetch ahead. Times are in milliseconds, 0 for never."""

    subscription: str
    subscription_type: str = "exclusive"
    settlement: Settlement = Settlement.ACKNOWLEDGE
    nack_delay_ms: int = 60_000
    ack_timeout_ms: int = 0
    dead_letters: DeadLetters | None = None
    key_sharing: KeySharing = field(default_factory=KeySharing)
    consumer_name: str | None = None
    from_earliest: bool = False
    queue_size: int = 1000
    properties: Mapping[str, str] = field(default_factory=dict)
    replicated: bool = False
    compacted: bool = False
    pattern_mode: str | None = None  # for a topic pattern: match persistent, non-persistent, or all topics
    max_chunked_messages: int = 0
    ack_oldest_chunked: bool = False
    decryption_key_path: str | None = None
    crypto_failure_action: str = "fail"
