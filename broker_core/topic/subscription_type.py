"""The types of subscriptions: which dispatcher serves each, and whether a topic allows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.dispatch.failover import FailoverDispatcher
from broker_core.dispatch.key_shared import KeySharedDispatcher
from broker_core.dispatch.shared import SharedDispatcher
from broker_core.dispatch.single_active import SingleActiveDispatcher
from broker_core.errors import NotAllowed
from broker_core.wire.pulsar_api_pb2 import CommandSubscribe

if TYPE_CHECKING:
    from broker_core.dispatch.context import DispatchContext
    from broker_core.dispatch.dispatcher import Dispatcher
    from broker_core.dispatch.hash_ranges import KeySharedMode
    from broker_core.dispatch.reader import Source
    from broker_core.storage.cursor.cursor import ManagedCursor

EXCLUSIVE = CommandSubscribe.Exclusive
SHARED = CommandSubscribe.Shared
FAILOVER = CommandSubscribe.Failover
KEY_SHARED = CommandSubscribe.Key_Shared

INDIVIDUAL_ACK_TYPES = frozenset({SHARED, KEY_SHARED})
"""Messages are acknowledged one by one. Cumulative acknowledgments are ignored."""


def type_name(sub_type: int) -> str:
    return CommandSubscribe.SubType.Name(sub_type)  # type: ignore[arg-type]  # enum values are ints here


def check_type(context: DispatchContext, sub_type: int) -> None:
    """Raises `NotAllowed` unless the policies of the topic allow subscriptions of that type."""
    name = type_name(sub_type)
    if name not in context.in_force.current.subscription_types:
        raise NotAllowed(f"Topic[{context.topic}] doesn't support {name} sub type!")
    if sub_type == KEY_SHARED and not context.config.key_shared:
        raise NotAllowed("Key_Shared subscription is disabled by broker.")


def new_dispatcher(
    sub_type: int, cursor: ManagedCursor, source: Source, context: DispatchContext, mode: KeySharedMode
) -> Dispatcher:
    if sub_type == KEY_SHARED:
        return KeySharedDispatcher(cursor, source, context, mode)
    kinds: dict[int, type[Dispatcher]] = {
        EXCLUSIVE: SingleActiveDispatcher,
        SHARED: SharedDispatcher,
        FAILOVER: FailoverDispatcher,
    }
    return kinds[sub_type](cursor, source, context)
