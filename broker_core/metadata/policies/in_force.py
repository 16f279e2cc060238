"""The policies in force for one topic, shared by all its parts. The topic renews them when a policy changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.metadata.policies.topic_policies import TopicPolicies


class PoliciesInForce:
    __slots__ = ("_find", "current")

    def __init__(self, find: Callable[[], TopicPolicies]) -> None:
        self._find = find
        self.current = find()

    def renew(self) -> None:
        """Resolves the policies again."""
        self.current = self._find()
