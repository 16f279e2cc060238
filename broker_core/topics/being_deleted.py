"""The namespaces and partitioned topics that are being deleted with their topics: no topic is created in them.

Clients of deleted topics come back within a fraction of a second, and would create them again.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from broker_core.errors import TopicNotFound

if TYPE_CHECKING:
    from broker_core.names import NamespaceName, TopicName


class BeingDeleted:
    def __init__(self) -> None:
        self._deletions: Counter[NamespaceName | TopicName] = Counter()  # several may run for one namespace

    @contextlib.contextmanager
    def closed(self, deleted: NamespaceName | TopicName) -> Iterator[None]:
        """Until the last of its deletions ends, no topic is created in the namespace or partitioned topic."""
        self._deletions[deleted] += 1
        try:
            yield
        finally:
            self._deletions[deleted] -= 1
            if not self._deletions[deleted]:
                del self._deletions[deleted]

    def check(self, name: TopicName) -> None:
        """Raises `TopicNotFound` for a topic, or a partition, of what is being deleted."""
        if not self._deletions:
            return
        if name.namespace in self._deletions:
            raise TopicNotFound(f"Namespace {name.namespace} is being deleted")
        if name.base in self._deletions:
            raise TopicNotFound(f"Topic {name} is being deleted")
