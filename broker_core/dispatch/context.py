"""The context that all dispatchers of a topic share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_core.config.dispatch import DispatchConfig
    from broker_core.config.features import EntryMetadataConfig
    from broker_core.dispatch.delayed.services import DelayedServices
    from broker_core.dispatch.unacked_limits import BrokerUnacked
    from broker_core.metadata.policies.in_force import PoliciesInForce
    from broker_core.names import TopicName
    from broker_core.tasks import Spawn


class SpecialEntries(Protocol):
    @property
    def has_chunks(self) -> bool:
        """Whether some entries may be parts of messages."""

    @property
    def has_markers(self) -> bool:
        """Whether some may be markers or messages of aborted transactions, which are for no consumer."""


class DispatchContext(NamedTuple):
    """special: the kinds of entries that dispatchers must look for.

    unacked: the limit of unacknowledged messages of the whole broker; None without one. passed_over: the cursor
    of that name has moved over entries that are for no consumer.
    """

    topic: TopicName
    config: DispatchConfig
    entry_metadata: EntryMetadataConfig
    in_force: PoliciesInForce
    spawn: Spawn
    delayed: DelayedServices
    unacked: BrokerUnacked | None
    special: SpecialEntries
    passed_over: Callable[[str], None]
