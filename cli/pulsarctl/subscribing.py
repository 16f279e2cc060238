"""From the options of `consume` to a source of records: one consumer, or one for each partition.

A partitioned topic needs a consumer for each partition as soon as partitions have ends or starts of their own, because
the official client asks for last messages and seeks to messages only there.
"""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pulsarctl.consuming import Source
from pulsarctl.errors import UsageProblem
from pulsarctl.positions import AtMessage, AtTime, Earliest, Latest, Position
from pulsarctl.topic_end import Bounded, Endless, Partition

if TYPE_CHECKING:
    from pulsarctl.messaging import Messaging, Subscriber


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


@dataclass(frozen=True, slots=True)
class Reach:
    """Which messages: of `topic`, from `start` (None: where the subscription stands) to `end` (None: for ever)."""

    topic: str
    start: Position | None = None
    end: Position | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.start, Earliest | Latest | AtMessage | AtTime | None):
            raise UsageProblem("a subscription cannot be moved there", hint="pulsarctl read can start there")
        if not isinstance(self.end, Latest | AtMessage | AtTime | None):
            raise UsageProblem("consuming cannot end there", hint="--to latest, L:E, @TIME or @-1h")


class Subscribing:
    """The subscription of one run; a temporary one is deleted at its end."""

    def __init__(self, options: SubscribeOptions, reach: Reach, *, is_temporary: bool) -> None:
        self.options = options
        self._reach = reach
        self._is_temporary = is_temporary
        self._subscribers: list[Subscriber] = []

    @property
    def starts_at_end(self) -> bool:
        """Whether it is known to get later messages only; of one with a name nobody says if it is new."""
        return self._is_temporary and self._reach.start is None and not self.options.from_earliest

    def open(self, client: "Messaging", has_backlog: Callable[[str], bool | None]) -> Source:
        """Subscribes, moves the subscription where it shall start, and fixes the end."""
        reach = self._reach
        if reach.start is None and reach.end is None:
            return Endless(self._subscribe(client, reach.topic))
        return self._open_partitions(client, has_backlog)

    def close(self) -> None:
        for subscriber in self._subscribers if self._is_temporary else []:
            subscriber.unsubscribe()

    def _open_partitions(self, client: "Messaging", has_backlog: Callable[[str], bool | None]) -> Source:
        reach = self._reach
        if self.options.pattern_mode:
            raise UsageProblem("topics given by --regex have no common start or end", hint="name one topic")
        names = client.partitions(reach.topic)
        for place in (reach.start, reach.end):
            if isinstance(place, AtMessage) and len(names) > 1:
                raise UsageProblem(
                    f"a message id is a place in one partition, and {reach.topic} has {len(names)}",
                    hint="say which with --partition",
                )
        partitions = []
        for name in names:
            subscriber = self._subscribe(client, name)
            if reach.start is not None:
                _seek(subscriber, reach.start)
            partitions.append(Partition(subscriber, name, reach.end))
        return Bounded(partitions, has_backlog)

    def _subscribe(self, client: "Messaging", topic: str) -> "Subscriber":
        subscriber = client.subscriber(topic, self.options)
        self._subscribers.append(subscriber)
        return subscriber


def _seek(subscriber: "Subscriber", start: Position) -> None:
    match start:
        case AtTime(publish_time_ms):
            subscriber.seek_to_time(publish_time_ms)
        case AtMessage(ledger_id, entry_id, partition, batch_index):
            subscriber.seek_to_message(ledger_id, entry_id, partition, batch_index)
        case Earliest():
            subscriber.seek_to_message(-1, -1, -1, -1)
        case Latest():
            subscriber.seek_to_message((1 << 63) - 1, (1 << 63) - 1, -1, -1)
