"""What every dispatcher of a topic is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.config.dispatch import DispatchConfig
    from broker_core.config.features import EntryMetadataConfig
    from broker_core.delayed.services import DelayedServices
    from broker_core.dispatch.unacked_limits import BrokerUnacked
    from broker_core.names import TopicName
    from broker_core.policies.in_force import PoliciesInForce
    from broker_core.tasks import Spawn


@dataclass(frozen=True, slots=True)
class DispatchContext:
    """has_chunks: whether some entries of the topic may be parts of messages.

    has_markers: whether some may be markers of a replicator, which are for no consumer.

    unacked: the limit of unacknowledged messages of the whole broker; None without one.
    """

    topic: TopicName
    config: DispatchConfig
    entry_metadata: EntryMetadataConfig
    in_force: PoliciesInForce
    spawn: Spawn
    delayed: DelayedServices
    unacked: BrokerUnacked | None
    has_chunks: Callable[[], bool]
    has_markers: Callable[[], bool]
