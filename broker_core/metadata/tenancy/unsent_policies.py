"""The topics whose policies for all clusters changed here and have not been published to the other clusters yet."""

import asyncio
from collections.abc import Iterator

from broker_core.metadata.tenancy.records import Documents
from broker_core.names import NamespaceName, TopicName, parse_topic

UNSENT = "unsent-global-topic-policies"


class UnsentPolicies:
    """On disk. `changed` is set when a topic was added."""

    def __init__(self, documents: Documents) -> None:
        self.changed = asyncio.Event()
        self._documents = documents
        self._topics = {parse_topic(key): None for key in documents.list(UNSENT)}

    def __iter__(self) -> Iterator[TopicName]:
        """Iterate over the topics, those that have waited longest first."""
        return iter(self._topics)

    async def add(self, topic: TopicName) -> None:
        """Durable on return; call `changed.set()` after the change itself."""
        await self._documents.put(UNSENT, str(topic), {})
        self._topics[topic] = None

    async def discard(self, topic: TopicName) -> None:
        if topic in self._topics:
            await self._documents.delete(UNSENT, str(topic))
            del self._topics[topic]

    async def discard_all_of(self, namespace: NamespaceName) -> None:
        for topic in [topic for topic in self._topics if topic.namespace == namespace]:
            await self.discard(topic)
