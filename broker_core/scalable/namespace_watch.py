"""WATCH_SCALABLE_TOPICS of one client: which scalable topics a namespace has, and what changes (PIP-468).

A client may ask for topics with certain properties. A topic that was created and deleted while the client did not read
is in no update.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from broker_core.wire import scalable_commands
from broker_core.wire.topics_hash import topics_hash

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_core.client import Outbound
    from broker_core.errors import BrokerError
    from broker_core.names import NamespaceName, TopicName
    from broker_core.scalable.records import ScalableRecords

SETTLE_SECONDS = 0.05  # changes within this time are one update, as in Pulsar


class NamespaceWatch:
    def __init__(
        self,
        outbound: Outbound,
        watch_id: int,
        namespace: NamespaceName,
        properties: Mapping[str, str],
        records: ScalableRecords,
    ) -> None:
        """`properties`: those that a topic must have."""
        self.namespace = namespace
        self._outbound = outbound
        self._watch_id = watch_id
        self._properties = properties
        self._records = records
        self._sent: set[TopicName] = set()
        self._changed: set[TopicName] = set()  # since the last update; to look at all topics would delay other clients
        self._timer: asyncio.TimerHandle | None = None

    def start(self, known_hash: str) -> None:
        """Sends all topics, unless the client knows them: `known_hash` is that of what it knows."""
        self._sent = {name for name in self._records.in_namespace(self.namespace) if self._matches(name)}
        names = sorted(map(str, self._sent))
        if not known_hash or known_hash != topics_hash(names):
            self._outbound.send(scalable_commands.topics_snapshot(self._watch_id, names))

    def _matches(self, name: TopicName) -> bool:
        record = self._records.get(name)
        return record is not None and self._properties.items() <= record.properties.items()

    def topic_changed(self, name: TopicName, *, exists: bool) -> None:
        """A scalable topic was created or deleted, in any namespace."""
        if name.namespace != self.namespace:
            return
        self._changed.add(name)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SETTLE_SECONDS, self._settled)

    def _settled(self) -> None:
        self._timer = None
        self.on_writable()

    def on_writable(self) -> None:
        """Sends what has changed, while the socket accepts data."""
        if self._timer is not None or not self._changed or not self._outbound.writable:
            return
        now = {name for name in self._changed if self._matches(name)}
        added, removed = now - self._sent, (self._changed - now) & self._sent
        self._changed.clear()
        self._sent |= added
        self._sent -= removed
        if added or removed:
            names = (sorted(map(str, topics)) for topics in (added, removed))
            self._outbound.send(scalable_commands.topics_changed(self._watch_id, *names))

    def failed(self, error: BrokerError) -> None:
        """The client learns why it gets nothing more."""
        self._outbound.send(scalable_commands.watch_failed(self._watch_id, error.server_error, error.reason))

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
