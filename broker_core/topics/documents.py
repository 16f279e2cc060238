"""The records of existing topics: on disk for persistent topics, in memory for non-persistent ones."""

from __future__ import annotations

import logging
from functools import partial
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Any

from broker_core.metadata.tenancy.documents import SEGMENT, TOPIC, read_topic
from broker_core.metadata.tenancy.system_topics import users_topics
from broker_core.names import SEGMENT as SEGMENT_DOMAIN
from broker_core.names import within
from broker_core.rates.time_slices import sliced

if TYPE_CHECKING:
    from broker_core.errors import BrokerError
    from broker_core.names import NamespaceName, TopicName
    from broker_core.storage.catalog.metadata import Metadata

log = logging.getLogger(__name__)

TOGETHER = 200  # names that one step of a long list looks at


def _kind(name: TopicName) -> str:
    return SEGMENT if name.is_segment else TOPIC


def _report(name: TopicName, field: str, error: BrokerError) -> None:
    log.error("stored topic %s: %s is ignored, set it again: %s", name, field, error)


class TopicDocuments:
    """`TopicCreation` and `TopicDeletion` add and remove records, and notify others of it."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata
        self._volatile: dict[str, dict[str, Any]] = {}

    def get(self, name: TopicName) -> dict[str, Any] | None:
        if name.is_persistent:
            return self._metadata.get(_kind(name), str(name))
        return self._volatile.get(str(name))

    def read(self, name: TopicName) -> tuple[int | None, dict[str, str]]:
        """Like `read_topic`; invalid values count as absent."""
        return read_topic(self.get(name) or {}, partial(_report, name))

    async def put(self, name: TopicName, document: dict[str, Any]) -> None:
        """Stores the record of a topic; durable on return, if the topic is."""
        if name.is_persistent:
            await self._metadata.put(_kind(name), str(name), document)
        else:
            self._volatile[str(name)] = document

    async def delete(self, name: TopicName) -> None:
        if name.is_persistent:
            await self._metadata.delete(_kind(name), str(name))
        else:
            self._volatile.pop(str(name), None)

    def all_persistent(self) -> list[str]:
        """Full names, with those of segments."""
        return sorted((*self._metadata.keys(TOPIC), *self.segments()))

    def segments(self) -> list[str]:
        """The full names of the segments of scalable topics, which no list of topics shows."""
        return sorted(self._metadata.keys(SEGMENT))

    def of_namespace(self, namespace: NamespaceName, domain: str) -> list[str]:
        """Full names, sorted."""
        return sorted(within(namespace, domain, (*self._metadata.keys(TOPIC), *self._volatile)))

    async def listed(self, namespace: NamespaceName, domain: str, *, system: bool) -> list[str]:
        """The names of `of_namespace` at this moment, in time slices; system topics only with `system`."""
        if domain == SEGMENT_DOMAIN:
            return [name for name in self.segments() if name.startswith(f"{domain}://{namespace}/")]
        unread = iter((*self._metadata.keys(TOPIC), *self._volatile))
        parts = []
        async for batch in sliced(iter(lambda: list(islice(unread, TOGETHER)), [])):
            names = within(namespace, domain, batch)
            parts.append(sorted(names if system else users_topics(namespace, names)))
        return [name async for name in sliced(merge(*parts))]
