"""The calls that the parts of a topic make to it.

The parts hold this object instead of their topic. `Topic.close` ends it, so that a topic and its parts do not hold each
other after the topic's life, and are freed without the garbage collector.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from broker_core.storage.records.block import EntryRun
    from broker_core.storage.records.position import Position
    from broker_core.topic.state import Lifecycle
    from broker_core.topic.subscriptions import Subscriptions
    from broker_core.topic_log import PublishDone


class CalledTopic(Protocol):
    """A topic as its parts call it."""

    @property
    def subscriptions(self) -> Subscriptions:
        """The subscriptions by name."""

    def publish(self, run: EntryRun, done: PublishDone) -> None:
        """Appends a run of messages, or raises a `BrokerError`."""

    def publishing_changed(self) -> None:
        """The checks of a publish may have changed."""

    def check_publishable(self) -> None:
        """Raises a `BrokerError` if no producer may join now."""

    async def store_epoch(self, epoch: int | None) -> None:
        """Stores the topic epoch; durable on return."""

    def producer_joined(self, name: str) -> None:
        """A producer of that name may now publish."""

    async def last_entry(self, compacted: bool) -> tuple[Position, bytes | None]:
        """The last entry that a consumer can get, and its bytes."""


def _not_at_all(_: str) -> None:
    """Tells no consumer, because the topic is closed or not complete yet."""


class TopicCalls:
    """Once ended, a call raises `TopicFenced`, unless it only reports something."""

    __slots__ = ("_lifecycle", "_topic", "followers", "tell_readers_of")

    def __init__(self, topic: CalledTopic, lifecycle: Lifecycle) -> None:
        self._topic: CalledTopic | None = topic
        self._lifecycle = lifecycle
        self.followers: tuple[Callable[[], None], ...] = ()  # called when a cursor has moved
        self.tell_readers_of: Callable[[str], None] = _not_at_all  # its cursor has moved

    def end(self) -> None:
        self._topic = None
        self.followers, self.tell_readers_of = (), _not_at_all

    def acknowledged(self) -> None:
        """A cursor moved that is not of a subscription."""
        for follow in self.followers:
            follow()

    def subscription_moved(self, name: str) -> None:
        """The cursor of a subscription moved. Hot path: called once per acknowledgment."""
        self.tell_readers_of(name)
        for follow in self.followers:
            follow()

    def publishing_changed(self) -> None:
        if self._topic is not None:
            self._topic.publishing_changed()

    def publish(self, run: EntryRun, done: PublishDone) -> None:
        self._open_topic().publish(run, done)

    def subscriptions(self) -> Subscriptions:
        return self._open_topic().subscriptions

    def check_publishable(self) -> None:
        self._open_topic().check_publishable()

    async def store_epoch(self, epoch: int | None) -> None:
        await self._open_topic().store_epoch(epoch)

    def producer_joined(self, name: str) -> None:
        self._open_topic().producer_joined(name)

    async def last_entry(self, compacted: bool) -> tuple[Position, bytes | None]:
        return await self._open_topic().last_entry(compacted)

    def _open_topic(self) -> CalledTopic:
        if self._topic is None:
            raise self._lifecycle.unloading()
        return self._topic
