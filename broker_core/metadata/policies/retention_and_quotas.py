"""Retention and the backlog quota of one level, a namespace or a topic, must fit each other. Pure.

Messages that are kept for subscribers must not outgrow what is kept in any case: where retention has a size, the
backlog quota by size must stay below it (Pulsar docs, "Retention and expiry"). Pulsar does not compare ages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker_core.errors import PreconditionFailed
from broker_core.metadata.policies.policy_set import PolicySet


def check_fit(before: PolicySet, changes: Mapping[str, Any]) -> None:
    """Raises `PreconditionFailed` when a new retention or quota contradicts the other policies of its level."""
    if _fit(before.changed(**changes)):
        return
    if changes.get("retention") is not None:
        raise PreconditionFailed("Retention Quota must exceed configured backlog quota for namespace.")
    if changes.get("size_quota") is not None:
        raise PreconditionFailed(
            "Backlog Quota exceeds configured retention quota for namespace. Please increase retention quota and retry"
        )


def _fit(policies: PolicySet) -> bool:
    retention, by_size = policies.get("retention"), policies.get("size_quota")
    return retention is None or by_size is None or retention.mb <= 0 or by_size.size < retention.mb << 20
