"""From the options of `consume` to a source of records: one consumer, or one for each partition.

A partitioned topic needs a consumer for each partition as soon as partitions have ends or starts of their own, because
the official client asks for last messages and seeks to messages only there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulsarctl.client.subscribe_options import SubscribeOptions
from pulsarctl.consume.consuming import Source
from pulsarctl.consume.topic_end import Bounded, Endless, Partition
from pulsarctl.errors import UsageProblem
from pulsarctl.values.positions import AtMessage, AtTime, Earliest, Latest, Position

if TYPE_CHECKING:
    from pulsarctl.client.messaging import Messaging, Subscriber


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
