"""Which topics are system topics: those that the broker creates and owns. Pure.

As in Pulsar (`SystemTopicNames`): the topics of events and transaction buffers of any namespace, the stores of pending
acknowledgments, and everything in `pulsar/system`. Lists hide them unless asked for them, inactivity does not delete
them, and policies for users' topics do not apply to them. Names that only look internal (`__mine`, a client's
`-multiTopicsReader-` names) are users' names.
"""

from collections.abc import Iterable

from broker_core.names import NamespaceName, TopicName, without_partition

SYSTEM_NAMESPACE = NamespaceName("pulsar", "system")
TRANSACTION_COORDINATOR_ASSIGN = "transaction_coordinator_assign"
TRANSACTION_LOG_PREFIX = "__transaction_log_"
PENDING_ACK_SUFFIX = "__transaction_pending_ack"

CHANGE_EVENTS = "__change_events"
EVENT_TOPICS = frozenset(
    {
        CHANGE_EVENTS,
        "__transaction_buffer_snapshot",
        "__transaction_buffer_snapshot_segments",
        "__transaction_buffer_snapshot_indexes",
    }
)
_MARK = "__"  # all of these names have it: most of thousands need no further check


def is_system_topic(name: TopicName) -> bool:
    """Whether a topic, or the partitioned topic that it belongs to, is a system topic."""
    if name.tenant == SYSTEM_NAMESPACE.tenant and name.namespace_local == SYSTEM_NAMESPACE.local:
        return True
    return _MARK in name.local and _is_system_name(name.base.local)


def is_change_events(name: TopicName) -> bool:
    return name.is_persistent and name.local == CHANGE_EVENTS


def stays_in_its_cluster(name: TopicName) -> bool:
    """Whether a topic is never replicated: a system topic other than the one that carries policies between clusters."""
    return is_system_topic(name) and name.local != CHANGE_EVENTS


def users_topics(namespace: NamespaceName, topics: Iterable[str]) -> list[str]:
    """The full names of a namespace's topics that are not system topics."""
    if namespace == SYSTEM_NAMESPACE:
        return []
    slashes = 5 if namespace.cluster else 4  # before the local name
    return [
        topic
        for topic in topics
        if _MARK not in topic or not _is_system_name(without_partition(topic).split("/", slashes)[-1])
    ]


def _is_system_name(local: str) -> bool:
    return local in EVENT_TOPICS or local.endswith(PENDING_ACK_SUFFIX)


def is_coordinator(name: TopicName) -> bool:
    """Whether the name stands for the transaction coordinator: clients look it up, and no such topic exists."""
    return (
        name.is_persistent and name.namespace == SYSTEM_NAMESPACE and name.base.local == TRANSACTION_COORDINATOR_ASSIGN
    )


def is_broker_internal(name: TopicName) -> bool:
    """Whether no client can create the topic by using it: the store of the transaction coordinators."""
    local = name.base.local
    if name.namespace == SYSTEM_NAMESPACE:
        return local == TRANSACTION_COORDINATOR_ASSIGN or local.startswith(TRANSACTION_LOG_PREFIX)
    return local.endswith(PENDING_ACK_SUFFIX)
