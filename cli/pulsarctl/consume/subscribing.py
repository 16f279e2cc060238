"""The source of records of one `consume`: one consumer, or one for each partition.

With a start or an end, a partitioned topic needs a consumer for each partition, because the official client supports
seeks and last message IDs only there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulsarctl.client.subscribe_options import SubscribeOptions
from pulsarctl.consume.consuming import Source
from pulsarctl.consume.topic_end import Bounded, Endless, Partition
from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.values.message_ids import EARLIEST, LATEST, MessageId
from pulsarctl.values.positions import AtTime, Earliest, Latest, Position

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient
    from pulsarctl.client.messaging import Messaging
    from pulsarctl.client.subscriber import Subscriber


@dataclass(frozen=True, slots=True)
class Reach:
    """The messages of `topic` from `start` (None: the subscription's position) to `end` (None: unbounded)."""

    topic: str
    start: Position | None = None
    end: Position | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.start, Earliest | Latest | MessageId | AtTime | None):
            raise UsageProblem("cannot move a subscription to this position", hint="start there with 'pulsarctl read'")
        if not isinstance(self.end, Latest | MessageId | AtTime | None):
            raise UsageProblem("cannot stop consuming at this position", hint="use --to latest, L:E, a TIME, or -10m")


class Subscribing:
    """The subscription of one run. A temporary subscription is deleted at the end."""

    def __init__(self, options: SubscribeOptions, reach: Reach, *, is_temporary: bool) -> None:
        self.options = options
        self._reach = reach
        self._is_temporary = is_temporary
        self._subscribers: list[Subscriber] = []

    def all_connected(self) -> bool:
        return all(subscriber.is_connected() for subscriber in self._subscribers)

    @property
    def discarded(self) -> int:
        """How many messages could not be decrypted, and were acknowledged without being printed."""
        return sum(subscriber.discarded for subscriber in self._subscribers)

    def open(self, client: "Messaging", has_backlog: Callable[[str], bool | None]) -> Source:
        """Subscribes, moves the subscription to its start, and determines the end."""
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
            raise UsageProblem("cannot use a start or an end with --regex", hint="name one topic")
        names = client.partitions(reach.topic)
        for place in (reach.start, reach.end):
            if isinstance(place, MessageId) and len(names) > 1:
                raise UsageProblem(
                    f"cannot use a message ID with all {len(names)} partitions of {reach.topic}",
                    hint="choose one with --partition",
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
        case MessageId():
            subscriber.seek_to_message(start)
        case Earliest():
            subscriber.seek_to_message(EARLIEST)
        case Latest():
            subscriber.seek_to_message(LATEST)


def has_backlog(admin: "AdminClient", topic: str, subscription: str) -> bool | None:
    """Whether the subscription has a backlog, or None if the admin API cannot tell."""
    try:
        stats = admin.topics.stats(topic).get("subscriptions", {}).get(subscription)
    except CliError:
        return None
    return None if stats is None else int(stats["msgBacklog"]) > 0
