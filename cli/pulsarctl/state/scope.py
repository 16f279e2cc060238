"""What a document describes completely, and what belongs to Pulsar itself and is never deleted. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pulsarctl.errors import UsageProblem
from pulsarctl.values.names import namespace_of

EVERYTHING = "*"
SYSTEM_TENANT = "pulsar"
FUNCTIONS = "public/functions"  # what the workers of Pulsar Functions store
DEFAULTS = ("public", "public/default")  # short names of topics need them
_SYSTEM_TOPICS = frozenset(
    {
        "__change_events",
        "__transaction_buffer_snapshot",
        "__transaction_buffer_snapshot_segments",
        "__transaction_buffer_snapshot_indexes",
    }
)


@dataclass(frozen=True, slots=True)
class Scope:
    """`names` are tenants, namespaces, or everything; a topic belongs to its namespace, a namespace to its tenant."""

    names: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, names: Iterable[str]) -> "Scope":
        """Raises `UsageProblem` for what belongs to Pulsar itself."""
        for name in names:
            if is_system(name):
                raise UsageProblem(f"scope: '{name}' belongs to Pulsar itself and cannot be described completely")
            if name.count("/") > 1 or not all(name.split("/")):
                raise UsageProblem(f"scope: '{name}' is neither TENANT nor TENANT/NAMESPACE")
        return cls(frozenset(names))

    @property
    def is_everything(self) -> bool:
        return EVERYTHING in self.names

    def has_tenant(self, tenant: str) -> bool:
        return self.is_everything or tenant in self.names

    def has_namespace(self, namespace: str) -> bool:
        return namespace in self.names or self.has_tenant(namespace.partition("/")[0])

    def has_topic(self, topic: str) -> bool:
        return self.has_namespace(namespace_of(topic))

    @property
    def tenants(self) -> list[str]:
        return sorted(name for name in self.names if "/" not in name and name != EVERYTHING)

    @property
    def namespaces(self) -> list[str]:
        return sorted(name for name in self.names if "/" in name)


def is_system(name: str) -> bool:
    """Whether a tenant or a namespace belongs to Pulsar."""
    return name.partition("/")[0] == SYSTEM_TENANT or name == FUNCTIONS


def is_kept(name: str) -> bool:
    """Whether a tenant or a namespace is never deleted."""
    return is_system(name) or name in DEFAULTS


def is_system_topic(topic: str) -> bool:
    """Whether the broker created the topic for itself, as in Pulsar's `SystemTopicNames`."""
    local = topic.split("/", 4)[-1]
    return local in _SYSTEM_TOPICS or local.endswith("__transaction_pending_ack") or is_system(namespace_of(topic))
