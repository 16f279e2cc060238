"""Topic and namespace names: parse, validate, partition suffix. Pure.

Short forms (Pulsar docs, "Topics"): `local` means `persistent://public/default/local`, `tenant/ns/local` means
`persistent://tenant/ns/local`. The four-part form with a cluster is refused with a reason.
Partition k of T is named `T-partition-k`, k a plain decimal without leading zeros.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from broker_core.errors import InvalidName

PARTITION_SUFFIX = "-partition-"
PERSISTENT = "persistent"
NON_PERSISTENT = "non-persistent"

RESERVED_SUBSCRIPTION_PREFIX = "pulsar.repl"
RESERVED_SUBSCRIPTIONS = frozenset({"pulsar.dedup", "__compaction"})

REMEMBERED_MAX = 1024  # characters: what was parsed is kept, and 4,096 names of this length are the most that it costs

_ENTITY = re.compile(r"^[-=:.\w]+$")
_NEW_ENTITY = re.compile(r"[-=:.\w]+", re.ASCII)  # Pulsar's NamedEntity: Java's \w is ASCII
_PARTITION = re.compile(r"^(.+)-partition-(0|[1-9][0-9]*)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NamespaceName:
    tenant: str
    local: str

    def __str__(self) -> str:
        return f"{self.tenant}/{self.local}"

    @classmethod
    def parse(cls, text: str) -> "NamespaceName":
        parts = text.split("/")
        if len(parts) != 2:
            raise InvalidName(f"Invalid namespace format. namespace: {text}")
        return cls(check_entity("Tenant", parts[0]), check_entity("Namespace", parts[1]))


@dataclass(frozen=True, slots=True)
class TopicName:
    """`local` is the name within the namespace, partition suffix included; `partition` is -1 when it has none."""

    domain: str
    tenant: str
    namespace_local: str
    local: str
    partition: int

    def __str__(self) -> str:
        return f"{self.domain}://{self.tenant}/{self.namespace_local}/{self.local}"

    @property
    def namespace(self) -> NamespaceName:
        return NamespaceName(self.tenant, self.namespace_local)

    @property
    def is_persistent(self) -> bool:
        return self.domain == PERSISTENT

    @property
    def is_partition(self) -> bool:
        return self.partition >= 0

    @property
    def base(self) -> "TopicName":
        """The partitioned topic that this is a partition of; itself when it is none."""
        return parse_topic(str(self)[: -len(f"{PARTITION_SUFFIX}{self.partition}")]) if self.is_partition else self

    def partition_name(self, index: int) -> "TopicName":
        return parse_topic(f"{self}{PARTITION_SUFFIX}{index}")


def check_entity(kind: str, name: str) -> str:
    """Returns `name`, or raises `InvalidName` with the admin API's reason (`Tenant name is not valid`)."""
    if not _ENTITY.match(name):
        raise InvalidName(f"{kind} name is not valid")
    return name


def check_new_entity(kind: str, name: str) -> None:
    """As `check_entity`, but to the letter of Pulsar's rule: a name that a directory has already must stay readable."""
    if not _NEW_ENTITY.fullmatch(name):
        raise InvalidName(f"{kind} name is not valid")


def is_reserved_subscription(name: str) -> bool:
    """Whether the broker itself uses cursors of that name."""
    return name.startswith(RESERVED_SUBSCRIPTION_PREFIX) or name in RESERVED_SUBSCRIPTIONS


def parse_topic(text: str) -> TopicName:
    """Parses a full or short topic name; raises `InvalidName` saying what was wrong."""
    return _remembered(text) if len(text) <= REMEMBERED_MAX else _parsed(text)


def _parsed(text: str) -> TopicName:
    domain, separator, rest = text.partition("://")
    if not separator:
        domain, rest = PERSISTENT, text
        if text.count("/") not in (0, 2):
            raise InvalidName(
                f"Invalid short topic name '{text}', it should be in the format of"
                " <tenant>/<namespace>/<topic> or <topic>"
            )
        if "/" not in text:
            rest = f"public/default/{text}"
    if domain not in (PERSISTENT, NON_PERSISTENT):
        raise InvalidName(f"Invalid topic domain: '{domain}' in '{text}'")
    return _from_parts(domain, rest, text)


_remembered = lru_cache(maxsize=4096)(_parsed)


def _from_parts(domain: str, rest: str, text: str) -> TopicName:
    parts = rest.split("/", 2)
    if len(parts) != 3 or not parts[2]:
        raise InvalidName(f"Invalid topic name: {text}")
    tenant, namespace, local = parts
    check_entity("Tenant", tenant)
    check_entity("Namespace", namespace)
    if "/" in local:
        raise InvalidName(
            f"Invalid topic name: {text}: the form tenant/cluster/namespace/topic is not supported;"
            " use tenant/namespace/topic"
        )
    found = _PARTITION.match(local)
    return TopicName(domain, tenant, namespace, local, int(found.group(2)) if found else -1)
