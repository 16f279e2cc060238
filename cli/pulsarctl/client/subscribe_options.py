"""What a command wants of its subscription and its consumer."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


class Settlement(enum.Enum):
    """What becomes of a message that was printed."""

    ACKNOWLEDGE = "acknowledge"
    GIVE_BACK = "give back"  # a negative acknowledgement: it comes again after the delay
    LEAVE = "leave"  # it comes again when the consumer has gone


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """After so many redeliveries a message goes to `topic`; None: the client's own `TOPIC-SUBSCRIPTION-DLQ`."""

    max_redeliveries: int
    topic: str | None = None


@dataclass(frozen=True, slots=True)
class KeySharing:
    """How Key_Shared divides keys: by itself, or this consumer takes `hash_ranges` (both ends inclusive)."""

    hash_ranges: tuple[tuple[int, int], ...] = ()
    allow_out_of_order: bool = False


@dataclass(frozen=True, slots=True)
class SubscribeOptions:
    """`queue_size` is how many messages the client fetches ahead; times are milliseconds, 0 for never."""

    subscription: str
    subscription_type: str = "exclusive"
    settlement: Settlement = Settlement.ACKNOWLEDGE
    give_back_delay_ms: int = 60_000
    ack_timeout_ms: int = 0
    dead_letters: DeadLetters | None = None
    key_sharing: KeySharing = field(default_factory=KeySharing)
    consumer_name: str | None = None
    from_earliest: bool = False
    queue_size: int = 1000
    properties: Mapping[str, str] = field(default_factory=dict)
    replicated: bool = False
    compacted: bool = False
    pattern_mode: str | None = None  # the topic is a pattern; which topics it finds: persistent, non-persistent, all
    max_chunked_messages: int = 0
    ack_oldest_chunked: bool = False
    decryption_key_path: str | None = None
    crypto_failure_action: str = "fail"
