"""The topics that are loaded, found by name, by namespace, and by partitioned topic without visiting all of them."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.names import NamespaceName, TopicName
    from broker_core.topic.topic import Topic


class LoadedTopics(Mapping[str, "Topic"]):
    """By full name. Only `TopicRegistry` adds topics; it and `TopicDeletion` close them."""

    def __init__(self) -> None:
        self._topics: dict[str, Topic] = {}
        # By namespace, and the partitions by the full name of their partitioned topic.
        self._groups: dict[NamespaceName | str, dict[str, Topic]] = {}

    def __getitem__(self, key: str) -> Topic:
        return self._topics[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._topics)

    def __len__(self) -> int:
        return len(self._topics)

    def values(self) -> ValuesView[Topic]:
        return self._topics.values()

    def items(self) -> ItemsView[str, Topic]:
        return self._topics.items()

    def add(self, topic: Topic) -> None:
        key = str(topic.name)
        self._topics[key] = topic
        for group in _groups_of(topic.name):
            self._groups.setdefault(group, {})[key] = topic

    def pop(self, key: str) -> Topic | None:
        topic = self._topics.pop(key, None)
        if topic is not None:
            for group in _groups_of(topic.name):
                del self._groups[group][key]
                if not self._groups[group]:
                    del self._groups[group]
        return topic

    async def close(self, key: str, *, served_at: str = "", for_deletion: bool = False) -> None:
        """Closes a topic (`Topic.close`); does nothing if it is not loaded."""
        topic = self.pop(key)
        if topic is not None:
            await topic.close(served_at=served_at, for_deletion=for_deletion)

    def affected_by(self, namespace: NamespaceName, topic: TopicName | None) -> list[Topic]:
        """The topics for which a policy of `topic` is in force, or any policy of `namespace` if `topic` is None."""
        if topic is None:
            return list(self._groups.get(namespace, {}).values())
        base = str(topic.base)
        own = self._topics.get(base)
        return [*([] if own is None else [own]), *self._groups.get(base, {}).values()]


def _groups_of(name: TopicName) -> list[NamespaceName | str]:
    return [name.namespace, str(name.base)] if name.is_part else [name.namespace]
