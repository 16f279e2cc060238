"""The context that the parts of one topic share. None of them knows the topic itself."""

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
