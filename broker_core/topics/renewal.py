"""Applies changed policies and settings to the loaded topics. A caller that stops waiting does not stop it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from broker_core.rates.time_slices import sliced

if TYPE_CHECKING:
    from broker_core.names import NamespaceName, TopicName
    from broker_core.tasks import Spawn
    from broker_core.topic.topic import Topic
    from broker_core.topics.always_loaded import AlwaysLoadedTopics
    from broker_core.topics.loaded import LoadedTopics
    from broker_core.topics.opening import TopicOpener


class TopicRenewal:
    def __init__(
        self, loaded: LoadedTopics, opener: TopicOpener, always_loaded: AlwaysLoadedTopics, spawn: Spawn
    ) -> None:
        self._loaded = loaded
        self._opener = opener
        self._always_loaded = always_loaded
        self._spawn = spawn

    async def policies_changed(self, namespace: NamespaceName, topic: TopicName | None) -> None:
        """A policy of the topic has changed, or of the namespace if `topic` is None."""
        await asyncio.shield(self._spawn(self._follow_policies(namespace, topic)))

    async def configuration_changed(self) -> None:
        """A dynamic setting has changed."""
        self._opener.configuration_changed()
        await asyncio.shield(self._spawn(self._renew(list(self._loaded.values()))))

    async def _follow_policies(self, namespace: NamespaceName, topic: TopicName | None) -> None:
        await self._renew(self._loaded.affected_by(namespace, topic))
        self._spawn(self._always_loaded.load_affected(namespace, topic))

    async def _renew(self, topics: list[Topic]) -> None:
        async for topic in sliced(topics):
            if self._loaded.get(str(topic.name)) is topic:  # topics loaded in the meantime read the new policies
                await topic.policies_changed()
