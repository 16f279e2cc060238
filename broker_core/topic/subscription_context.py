"""The context that the subscriptions of a topic share, and the calls they make."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from broker_core.compaction.compaction import Compaction
    from broker_core.dispatch.context import DispatchContext
    from broker_core.limits.topic_limits import TopicLimits
    from broker_core.limits.topic_throttles import TopicThrottles
    from broker_core.replication.replicated_subscriptions import ReplicatedSubscriptions
    from broker_core.storage.records.position import Position
    from broker_core.topic.services import SegmentListener
    from broker_core.topic.state import Lifecycle
    from broker_core.topic_context import TopicContext
    from broker_core.transactions.coordinator import Coordinator


class SubscriptionContext(NamedTuple):
    """The context that the subscriptions of a topic share, and the calls they make.

    batch_index_acks: batch messages are acknowledged one by one. last_entry(compacted): the last entry that a consumer
    can get, and its bytes; -1:-1 and None if there is none. moved: the cursor of that subscription moved. flowed: a
    consumer of it is ready for messages. delivers: whether durable subscriptions deliver messages. is_frozen: whether
    they must stay where they are for now. check_acknowledgeable: raises `TopicFenced` or `TopicMoved` if they must, or
    if the topic is gone. coordinator: of transactions; None if they are disabled. segments: learns of consumers that
    leave.
    """

    topic: TopicContext
    dispatch: DispatchContext
    limits: TopicLimits
    batch_index_acks: bool
    lifecycle: Lifecycle
    throttles: TopicThrottles
    compaction: Compaction
    last_entry: Callable[[bool], Awaitable[tuple[Position, bytes | None]]]
    moved: Callable[[str], None]
    flowed: Callable[[str], None]
    delivers: Callable[[], bool]
    is_frozen: Callable[[], bool]
    check_acknowledgeable: Callable[[], None]
    replicated: ReplicatedSubscriptions
    coordinator: Callable[[], Coordinator | None]
    segments: SegmentListener
