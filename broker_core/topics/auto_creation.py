"""Automatic creation: which missing topics and subscriptions a client creates by using them.

The namespace policy decides, else the configuration (Pulsar docs, "Manage non-partitioned topics" and "Namespace
policies"). Subscriptions also have a topic policy. System topics are always created on use. A partition beyond the
count of its topic, or the bare name of a partitioned topic, is never created: two topics would share the messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.errors import Conflict, NotAllowed, SubscriptionNotFound, TopicNotFound
from broker_core.metadata.policies.values import PARTITIONED
from broker_core.metadata.tenancy.system_topics import is_broker_internal, is_system_topic

if TYPE_CHECKING:
    from broker_core.metadata.tenancy.tenancy import Tenancy
    from broker_core.names import TopicName
    from broker_core.topic.services import SegmentListener
    from broker_core.topics.being_deleted import BeingDeleted


class AutoCreation:
    def __init__(self, tenancy: Tenancy, being_deleted: BeingDeleted, segments: Callable[[], SegmentListener]) -> None:
        self._tenancy = tenancy
        self._segments = segments
        self._being_deleted = being_deleted

    def check_topic(self, name: TopicName, *, may_create: bool) -> None:
        """Raises `TopicNotFound` or `NotAllowed` unless a client may create the missing topic by using it."""
        if not self._tenancy.has_namespace(name.namespace):
            raise TopicNotFound(f"Namespace {name.namespace} does not exist")
        if name.is_segment:
            raise TopicNotFound(f"Segment {name} does not exist")
        if self._segments().has_replaced(name):
            raise TopicNotFound(f"Topic {name} has become a scalable topic")
        if is_broker_internal(name):
            raise NotAllowed(f"Can not create transaction system topic {name}")
        self.check_partition(name)
        if self._tenancy.partitioned.count(name):
            raise NotAllowed(f"{name} is a partitioned topic; use its partitions")
        if name.is_partition and self._tenancy.partitioned.count(name.base):
            return
        allowed = is_system_topic(name) or self._tenancy.effective.of(name).auto_topic_creation.allowed
        if not may_create or not allowed:
            raise TopicNotFound(f"Topic {name} does not exist")

    def check_regular(self, name: TopicName) -> None:
        """Raises `Conflict` for a topic that has become a scalable one."""
        if self._segments().has_replaced(name):
            raise Conflict(f"Topic {name} has become a scalable topic")

    def check_partition(self, name: TopicName) -> None:
        """Raises `TopicNotFound` for a partition beyond the count, or of a topic that is being deleted."""
        self._being_deleted.check(name)
        partitions = self._tenancy.partitioned.count(name.base) if name.is_partition else 0
        if 0 < partitions <= name.partition:
            raise TopicNotFound(f"Topic not found {name}: {name.base} has {partitions} partitions")

    def partitions_of(self, name: TopicName) -> int:
        """The number of partitions of an automatically created topic; 0 if it is not partitioned."""
        creation = self._tenancy.effective.of(name).auto_topic_creation
        if name.is_partition or is_system_topic(name) or creation.kind != PARTITIONED:
            return 0
        return creation.partitions or 1

    def check_subscription(self, topic: TopicName, subscription: str) -> None:
        """Raises `SubscriptionNotFound` unless a client may create the missing subscription."""
        if not self._tenancy.effective.of(topic).auto_subscription_creation.allowed:
            raise SubscriptionNotFound(f"Subscription {subscription} does not exist on {topic}")
