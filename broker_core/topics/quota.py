"""`maxTopicsPerNamespace`: how many topics a namespace may have, counting topics that are still being created.

The limit counts partitions, per domain. Topics that the broker makes for itself have no limit.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from broker_core.limits.topic_limits import check_topics
from broker_core.metadata.tenancy.system_topics import is_system_topic, users_topics
from broker_core.names import NamespaceName, within

if TYPE_CHECKING:
    from broker_core.metadata.tenancy.tenancy import Tenancy
    from broker_core.names import TopicName


class TopicQuota:
    def __init__(self, tenancy: Tenancy, of_namespace: Callable[[NamespaceName, str], Iterable[str]]) -> None:
        """`of_namespace` lists the full names of the topics that exist in a namespace and domain."""
        self._tenancy = tenancy
        self._of_namespace = of_namespace
        self._held: Counter[str] = Counter()  # full names of topics that are being created

    def check(self, name: TopicName) -> None:
        """Raises `LimitReached` when the namespace has as many topics as it may have."""
        limit = self._limit(name)
        if limit:
            self._check(name, {str(name)}, limit)

    @contextlib.contextmanager
    def hold(self, base: TopicName, partitions: Iterable[TopicName]) -> Iterator[None]:
        """Counts partitions of a topic while they are created. Raises `LimitReached`."""
        limit = self._limit(base)
        names = set(map(str, partitions)) if limit else set()
        if names:
            self._check(base, names, limit)
        with self.counting(names):
            yield

    @contextlib.contextmanager
    def counting(self, names: Collection[str]) -> Iterator[None]:
        """Counts topics that are being created; others may already be there."""
        held = Counter(names)
        self._held += held
        try:
            yield
        finally:
            self._held -= held

    def _limit(self, name: TopicName) -> int:
        return 0 if is_system_topic(name) else self._tenancy.effective.in_namespace(name.namespace).max_topics

    def _check(self, example: TopicName, names: set[str], limit: int) -> None:
        """`example` has the namespace and the domain of all names."""
        namespace, domain = example.namespace, example.domain
        there = {*self._of_namespace(namespace, domain), *within(namespace, domain, self._held)}
        check_topics(len(users_topics(namespace, there)), len(names - there), limit)
