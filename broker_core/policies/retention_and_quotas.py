"""Retention and backlog quotas of one level, a namespace or a topic, must fit each other. Pure.

Messages that are kept for subscribers must not outgrow what is kept in any case: where retention has a size or a time,
the backlog quota of that kind must stay below it (Pulsar docs, "Retention and expiry").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker_core.errors import IncompatiblePolicies
from broker_core.policies.topic_policies import PolicySet

QUOTAS = ("size_quota", "age_quota")


def check_fit(before: PolicySet, changes: Mapping[str, Any]) -> None:
    """Raises `IncompatiblePolicies` when a retention or quota that is being set does not fit the rest of its level."""
    if _fit(before.changed(**changes)):
        return
    if changes.get("retention") is not None:
        raise IncompatiblePolicies("Retention Quota must exceed configured backlog quota for namespace.")
    if any(changes.get(field) is not None for field in QUOTAS):
        raise IncompatiblePolicies(
            "Backlog Quota exceeds configured retention quota for namespace. Please increase retention quota and retry"
        )


def _fit(policies: PolicySet) -> bool:
    retention, by_size, by_age = (policies.get(field) for field in ("retention", *QUOTAS))
    if retention is None:
        return True
    size_fits = by_size is None or retention.mb <= 0 or by_size.size < retention.mb << 20
    return size_fits and (by_age is None or retention.minutes <= 0 or by_age.seconds < retention.minutes * 60)
