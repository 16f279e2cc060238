"""The interface of the parts of a topic, such as compaction or replication, and the context that they share.

A topic tells each of its parts what happens to it, in the order in which it lists them, and closes them in the reverse
order. A new feature is one more part in `Topic._connect_parts`. No part knows the topic itself. Acknowledgments and
confirmed entries, which are on the hot path, go only to the parts that need them (`TopicCalls.followers`,
`Topic._on_confirmed`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.metadata.policies.expiry_clock import ExpiryClock
    from broker_core.metadata.policies.in_force import PoliciesInForce
    from broker_core.metadata.policies.topic_policies import TopicPolicies
    from broker_core.names import TopicName
    from broker_core.tasks import Spawn
    from broker_core.topic_log import TopicLog


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TopicContext:
    """The same for all parts of a topic."""

    name: TopicName
    log: TopicLog
    clock: Clock
    expiry: ExpiryClock
    spawn: Spawn
    in_force: PoliciesInForce

    @property
    def policies(self) -> TopicPolicies:
        """The policies in force now."""
        return self.in_force.current


class TopicPart:
    """One feature of a topic; a part overrides what concerns it."""

    __slots__ = ()

    async def load(self) -> None:
        """The log is open, and no client is served yet. Raises `StorageError` if the topic cannot be served."""
        await self.policies_changed()

    async def policies_changed(self) -> None:
        """The policies in force have changed: those of the topic, its namespace, its cluster, or the broker."""

    def check_publishable(self) -> None:
        """Raises a `BrokerError` if no producer may join now."""

    async def close(self) -> None:
        """The topic is unloaded: stop, and leave to the disk what the next load needs."""
