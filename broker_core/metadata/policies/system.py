"""The policies of system topics: users' policies without those that must not apply to the broker's own topics. Pure.

As in Pulsar's `SystemTopic`: no quota, no expiry, no limit, no rate, and no deduplication.
"""

from __future__ import annotations

import dataclasses

from broker_core.metadata.policies.topic_policies import TopicPolicies
from broker_core.metadata.policies.values import DispatchRate, PublishRate, RetentionPolicy


def without_limits(policies: TopicPolicies) -> TopicPolicies:
    return dataclasses.replace(
        policies,
        retention=RetentionPolicy(),
        ttl_seconds=0,
        size_quota=dataclasses.replace(policies.size_quota, size=-1),
        age_quota=dataclasses.replace(policies.age_quota, seconds=-1),
        publish_rate=PublishRate(),
        dispatch_rate=DispatchRate(),
        subscription_dispatch_rate=DispatchRate(),
        max_producers=0,
        max_consumers=0,
        max_consumers_per_subscription=0,
        max_subscriptions=0,
        deduplication_enabled=False,
        encryption_required=False,
        subscription_expiration_minutes=0,
    )
