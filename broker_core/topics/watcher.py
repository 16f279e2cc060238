"""One client's WATCH_TOPIC_LIST: which topics of a namespace come and go, as long as the connection lasts.

What a client that does not read has not been told yet is kept as two sets of names: a topic that came and went
meanwhile is in neither, so they never hold more than the topics that it knows of and those that exist.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING

from broker_core.rates.turns import in_turns
from broker_core.tenancy.system_topics import is_system_topic
from broker_core.wire import commands
from broker_core.wire.topics_hash import topics_hash

if TYPE_CHECKING:
    from broker_core.client import Outbound
    from broker_core.names import NamespaceName, TopicName
    from broker_core.topics.pattern import TopicPattern

NAMES_PER_UPDATE = 1000  # so that no frame outgrows what clients take
SETTLE_SECONDS = 0.02  # partitions of a topic come together


class TopicListWatcher:
    """`topics()` lists what exists in the namespace, by full name, users' persistent topics only."""

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
        self._namespace = namespace
        self._pattern = pattern
        self._topics = topics
        self._known: set[str] = set()  # what matches now; to list all topics at every change would hold up everybody
        self._new: set[str] = set()
        self._deleted: set[str] = set()
        self._started = self._listed = False
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    async def start(self) -> list[str]:
        """What matches now, sorted; from here on the client is told of changes.

        What changes while others have their turn is already in the answer, which must leave before the next wait.
        """
        self._started = True
        found = {topic async for topic in in_turns(self._topics()) if self._pattern.matches(topic)}
        self._known = (found - self._deleted) | self._new
        self._new.clear()
        self._deleted.clear()
        self._listed = True
        return sorted(self._known)

    def topic_changed(self, name: TopicName, *, exists: bool) -> None:
        """A topic was created or deleted, in any namespace."""
        full = str(name)
        if not self._started or name.namespace != self._namespace or not name.is_persistent:
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
        """Tells what is new, as far as the socket takes it."""
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
