"""WATCH_TOPIC_LIST of one client: notifies it of created and deleted topics of a namespace until it disconnects.

Changes that wait for a client that does not read are two sets of names. A topic that was created and deleted in the
meantime is in neither, so the sets never hold more than the topics that the client knows and those that exist.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING

from broker_core.metadata.tenancy.system_topics import is_system_topic
from broker_core.names import PERSISTENT
from broker_core.rates.time_slices import sliced
from broker_core.wire import commands
from broker_core.wire.topics_hash import topics_hash

if TYPE_CHECKING:
    from broker_core.client import Outbound
    from broker_core.names import NamespaceName, TopicName
    from broker_core.topics.pattern import TopicPattern

NAMES_PER_UPDATE = 1000  # keeps frames below the limit of clients
SETTLE_SECONDS = 0.02  # the partitions of a topic arrive together


class TopicListWatcher:
    """`topics()` lists the full names of the users' persistent topics in the namespace."""

    def __init__(
        self,
        outbound: Outbound,
        watcher_id: int,
        namespace: NamespaceName,
        pattern: TopicPattern,
        topics: Callable[[], Iterable[str]],
    ) -> None:
        self._outbound = outbound
        self._watcher_id = watcher_id
        self.namespace = namespace
        self._pattern = pattern
        self._topics = topics
        self._known: set[str] = (
            set()
        )  # matching topics now; listing all of them at every change would delay other clients
        self._new: set[str] = set()
        self._deleted: set[str] = set()
        self._started = self._listed = False
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    async def start(self) -> list[str]:
        """The sorted matching topics. From here on the client is notified of changes.

        The list includes changes that happen while it is made, so it must be sent before the next await.
        """
        self._started = True
        matching = {topic async for topic in sliced(self._topics()) if self._pattern.matches(topic)}
        self._known = (matching - self._deleted) | self._new
        self._new.clear()
        self._deleted.clear()
        self._listed = True
        return sorted(self._known)

    def topic_changed(self, name: TopicName, *, exists: bool) -> None:
        """A topic was created or deleted, in any namespace."""
        full = str(name)
        if not self._started or name.namespace != self.namespace or name.domain != PERSISTENT:
            return
        if is_system_topic(name) or not self._pattern.matches(full):
            return
        (self._known.add if exists else self._known.discard)(full)
        added, undone = (self._new, self._deleted) if exists else (self._deleted, self._new)
        if full in undone:
            undone.discard(full)
        else:
            added.add(full)
        if self._timer is None and self._listed:
            self._timer = self._loop.call_later(SETTLE_SECONDS, self._settled)

    def _settled(self) -> None:
        self._timer = None
        self.on_writable()

    def on_writable(self) -> None:
        """Sends changes while the socket accepts data."""
        if not self._listed or not (self._new or self._deleted) or not self._outbound.writable:
            return
        now = topics_hash(self._known)
        while (self._new or self._deleted) and self._outbound.writable:
            new, deleted = _take(self._new), _take(self._deleted)
            self._outbound.send(commands.watch_topic_update(self._watcher_id, new, deleted, topics_hash=now))

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._known.clear()
        self._new.clear()
        self._deleted.clear()


def _take(names: set[str]) -> list[str]:
    taken = sorted(islice(names, NAMES_PER_UPDATE))
    names.difference_update(taken)
    return taken
