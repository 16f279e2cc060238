"""The settings under `policies`: how each is found in a broker's answers, and the requests that change it.

They come from the tables behind `namespaces set-X` and `topics set-X` (`policies`), and have the names of these
verbs.
"""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from pulsarctl.policies.installing import OF_NAMESPACES, OF_TOPICS
from pulsarctl.policies.policy import Policy
from pulsarctl.policies.values import AUTO_SCALE
from pulsarctl.values.shapes import Names, Text, ValueShape

OWN_CLUSTER = "{cluster}"
QUOTA = "backlog-quota"  # one path for two policies, with the type of the quota in the query


class Request(NamedTuple):
    """A request on the path of a topic or a namespace."""

    method: str
    path: str
    body: Any = None
    query: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """`read`: its path. `document`: where the document of a namespace has it. `unset`: what says that it is not set."""

    name: str
    shape: ValueShape
    path: str
    help: str = ""
    read: str = ""
    document: str = ""
    method: str = "POST"
    clear: str = "DELETE"
    removal: str = ""
    unset: Any = None

    @classmethod
    def of(cls, policy: Policy) -> "Setting":
        return cls(
            policy.name,
            policy.value,
            policy.path,
            (policy.summary or inspect.getdoc(policy.flags) or "").partition("\n")[0],
            policy.read or policy.path,
            policy.document,
            policy.method,
            policy.clear,
            policy.removal or policy.path,
            policy.unset,
        )

    def from_broker(self, value: Any, cluster: str) -> Any:
        """A broker's answer in the form of a document; None if it says that nothing is set."""
        if value is None or value == "":
            return None
        known = self.shape.stored(value)
        return None if known in ({}, self.nothing(cluster)) else known

    def in_namespace(self, document: dict[str, Any], cluster: str) -> Any:
        """The same, from the document of a namespace."""
        value: Any = document
        for part in self.document.split("/"):
            inner = value or {}
            if part == OWN_CLUSTER:  # without its name, the only cluster there is
                value = inner.get(cluster) if cluster else next(iter(inner.values()), None)
            else:
                value = inner.get(part)
        return self.from_broker(value, cluster)

    def nothing(self, cluster: str) -> Any:
        """The value that stands for no value."""
        return [cluster] if self.unset == [OWN_CLUSTER] else self.unset

    def changes(self, old: Any, new: Any, cluster: str) -> Iterator[Request]:
        """The requests that make `new` of `old`; None stands for no value."""
        if self.name == QUOTA:
            yield from self._quotas(old or {}, new or {})
        elif new is None or new == self.nothing(cluster):
            yield self._removal(cluster)
        elif self.method == "QUERY":
            yield Request("POST", self.path, query={self.path: new})
        else:
            yield Request(self.method, self.path, new)

    def _removal(self, cluster: str) -> Request:
        if self.clear == "DELETE":
            return Request("DELETE", self.removal or self.path)
        return Request(self.method, self.path, self.nothing(cluster))

    def _quotas(self, old: dict[str, Any], new: dict[str, Any]) -> Iterator[Request]:
        for kind in sorted({*old, *new}):
            query = {"backlogQuotaType": kind}
            if kind not in new:
                yield Request("DELETE", self.path, query=query)
            elif new[kind] != old.get(kind):
                yield Request("POST", self.path, new[kind], query)


_ONLY_NAMESPACES = (
    Setting(
        "replication-clusters",
        Names(),
        "replication",
        "Clusters that the namespace is replicated to.",
        document="replication_clusters",
        clear="",
        unset=[OWN_CLUSTER],
    ),
    Setting(
        "subscription-auth-mode",
        Text(("None", "Prefix")),
        "subscriptionAuthMode",
        "Which names subscriptions may have: any, or those with the role of the client as prefix.",
        document="subscription_auth_mode",
        clear="",
        unset="None",
    ),
    Setting(
        "scalable-topic-auto-scale-policy",
        AUTO_SCALE,
        "scalableTopicAutoScalePolicy",
        "When the broker splits and merges the segments of scalable topics.",
        document="scalableTopicAutoScalePolicy",
    ),
)
NAMESPACE = {row.name: row for row in (*map(Setting.of, OF_NAMESPACES), *_ONLY_NAMESPACES) if row.document}
TOPIC = {row.name: row for row in map(Setting.of, OF_TOPICS)}
