"""The permissions of the roles of a namespace: Pulsar's `AuthPolicies` and `subscription_auth_mode`. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from broker_core.config.frozen import frozen

Actions = Mapping[str, Sequence[str]]  # by role
_BY_PREFIX = "Prefix"


@frozen
class Permissions:
    """`namespace`: actions by role. `topics`: the same by full topic name. `subscriptions`: roles by subscription.

    `by_prefix`: a role may use subscriptions whose names start with it.
    """

    namespace: Actions = field(default_factory=dict)
    topics: Mapping[str, Actions] = field(default_factory=dict)
    subscriptions: Actions = field(default_factory=dict)
    by_prefix: bool = False

    @classmethod
    def of(cls, document: Mapping[str, Any], subscription_auth_mode: str | None) -> Permissions:
        """`document`: `auth_policies` as it is stored (`metadata.policies.kept`)."""
        return cls(
            document.get("namespace_auth", {}),
            document.get("destination_auth", {}),
            document.get("subscription_auth_roles", {}),
            subscription_auth_mode == _BY_PREFIX,
        )

    def of_topic(self, topic: str) -> Actions:
        return self.topics.get(topic, {})
