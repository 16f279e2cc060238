"""Topic and namespace names: parse, validate, partition suffix. Pure.

Short forms (Pulsar docs, "Topics"): `local` means `persistent://public/default/local`, `tenant/ns/local` means
`persistent://tenant/ns/local`. In the older form of four parts, `persistent://tenant/cluster/ns/local`, the namespace
is `tenant/cluster/ns`, which is not the same as `tenant/ns`, and the local name may contain slashes. Partition k of T
is named `T-partition-k`; k is decimal without leading zeros.

Scalable topics (Pulsar 5.0) have a domain of their own, and so do their segments: the segment 2 of `topic://t/ns/x`
with the hashes 0x0000 to 0x3fff is `segment://t/ns/x/0000-3fff-2`. Neither has partitions, and x may contain slashes.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, unquote

from broker_core.errors import InvalidName, PreconditionFailed

PARTITION_SUFFIX = "-partition-"
PERSISTENT = "persistent"
NON_PERSISTENT = "non-persistent"
SCALABLE = "topic"
SEGMENT = "segment"
GLOBAL = "global"  # in the older form, in place of a cluster: the namespace belongs to all clusters

RESERVED_SUBSCRIPTION_PREFIX = "pulsar.repl"
DEDUPLICATION_CURSOR = "pulsar.dedup"
COMPACTION_CURSOR = "__compaction"
POLICY_CURSOR = "pulsarctl.global-policies"
RESERVED_SUBSCRIPTIONS = frozenset({DEDUPLICATION_CURSOR, COMPACTION_CURSOR, POLICY_CURSOR})

REMEMBERED_MAX = 1024  # characters: parsed names are cached, and 4,096 names of this length are the maximum

_ENTITY = re.compile(r"[-=:.\w]+")
_NEW_ENTITY = re.compile(r"[-=:.\w]+", re.ASCII)  # Pulsar's NamedEntity: Java's \w is ASCII
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f/\\\u2028\u2029\ud800-\udfff]")  # in a part of a path
_DESCRIPTOR = re.compile(r"[0-9a-f]{4}-[0-9a-f]{4}-(0|[1-9][0-9]{0,17})")  # hash range and ID of a segment
_PARTITION = re.compile(rf"(.+){PARTITION_SUFFIX}(0|[1-9][0-9]{{0,8}})\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NamespaceName:
    """`local` is everything after the tenant: `ns`, or `cluster/ns` in the older form."""

    tenant: str
    local: str

    def __str__(self) -> str:
        return f"{self.tenant}/{self.local}"

    @classmethod
    def parse(cls, text: str) -> "NamespaceName":
        parts = text.split("/")
        if len(parts) not in (2, 3):
            raise InvalidName(f"Invalid namespace format. namespace: {text}")
        return cls.of(parts[0], *parts[1:])

    @classmethod
    def of(cls, tenant: str, *parts: str) -> "NamespaceName":
        """`parts`: the namespace, or a cluster and the namespace. Raises `InvalidName`."""
        check_entity("Tenant", tenant)
        for kind, name in zip(("Namespace", "Cluster"), reversed(parts), strict=False):
            check_entity(kind, name)
        return cls(tenant, "/".join(parts))

    @property
    def cluster(self) -> str:
        """The cluster in the older form; otherwise ""."""
        return self.local.rpartition("/")[0]

    @property
    def exists_by_use(self) -> bool:
        """In the older form, use creates a namespace of one cluster, as in Pulsar, but not one of all clusters."""
        return self.cluster not in ("", GLOBAL)


@dataclass(frozen=True, slots=True)
class TopicName:
    """`local` is the name in the namespace, with the partition suffix; `partition` is -1 if it has none.

    `namespace_local`: as in `NamespaceName.local`.
    """

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
        """Whether its messages are stored: a segment is a persistent topic, too."""
        return self.domain == PERSISTENT or self.domain == SEGMENT

    @property
    def is_partition(self) -> bool:
        return self.partition >= 0

    @property
    def is_scalable(self) -> bool:
        return self.domain == SCALABLE

    @property
    def is_segment(self) -> bool:
        return self.domain == SEGMENT

    @property
    def is_part(self) -> bool:
        """Whether it is a partition or a segment: its policies, schemas, and permissions are those of `base`."""
        return self.is_partition or self.is_segment

    @property
    def base(self) -> "TopicName":
        """The partitioned topic of a partition, the scalable topic of a segment; of other topics, the topic itself."""
        if self.is_segment:
            return TopicName(SCALABLE, self.tenant, self.namespace_local, self.local.rpartition("/")[0], -1)
        if not self.is_partition:
            return self
        local = self.local[: -len(f"{PARTITION_SUFFIX}{self.partition}")]
        return self._sibling(local, _partition_of(local))

    def segment_name(self, start: int, end: int, segment_id: int) -> "TopicName":
        """The segment of this scalable topic with the hashes from `start` to `end`, both included."""
        local = f"{self.local}/{start:04x}-{end:04x}-{segment_id}"
        return TopicName(SEGMENT, self.tenant, self.namespace_local, local, -1)

    def in_domain(self, domain: str) -> "TopicName":
        """The topic of the same name in another domain, without a partition."""
        return TopicName(domain, self.tenant, self.namespace_local, self.local, -1)

    def partition_name(self, index: int) -> "TopicName":
        return self._sibling(f"{self.local}{PARTITION_SUFFIX}{index}", index)

    def _sibling(self, local: str, partition: int) -> "TopicName":
        """A name of the same topic, without parsing: topics may have thousands of partitions."""
        return TopicName(self.domain, self.tenant, self.namespace_local, local, partition)


def without_partition(topic: str) -> str:
    """The full name of the partitioned topic of a partition; other full names are returned unchanged.

    Like `parse_topic(topic).base`, for lists of thousands.
    """
    if PARTITION_SUFFIX not in topic:
        return topic
    local = topic.split("/", 4)[-1]
    return topic[: len(topic) - len(local)] + local_without_partition(local)


def local_without_partition(local: str) -> str:
    """Like `without_partition`, for the name in the namespace."""
    partition = _PARTITION.match(local)
    return partition[1] if partition else local


def check_partitioned_name(topic: TopicName) -> None:
    """Raises `PreconditionFailed` if a partition of a topic of that name would be ambiguous."""
    if PARTITION_SUFFIX in topic.local:
        raise PreconditionFailed(f"Partitioned Topic Name should not contain '{PARTITION_SUFFIX}'")


def check_new_topic(topic: TopicName) -> None:
    """Raises `InvalidName` for blanks at an end, as Pulsar 5.0 does; existing topics keep such names."""
    if topic.local != topic.local.strip():
        raise InvalidName(f"Topic name is not valid: '{topic.local}' begins or ends with a blank")


def check_has_messages(topic: TopicName) -> None:
    """Raises `InvalidName` for a scalable topic, whose messages are in its segments."""
    if topic.is_scalable:
        raise InvalidName(f"{topic} is a scalable topic, which only clients of the V5 API can use")


def check_entity(kind: str, name: str) -> str:
    """Returns `name`, or raises `InvalidName` with the admin API's reason (`Tenant name is not valid`)."""
    if not _ENTITY.fullmatch(name):
        raise InvalidName(f"{kind} name is not valid")
    return name


def check_new_entity(kind: str, name: str) -> None:
    """Like `check_entity`, but with Pulsar's exact rule: names that a directory already has must stay readable."""
    if not _NEW_ENTITY.fullmatch(name):
        raise InvalidName(f"{kind} name is not valid")


def is_reserved_subscription(name: str) -> bool:
    """Whether the broker itself uses cursors of that name."""
    return name.startswith(RESERVED_SUBSCRIPTION_PREFIX) or name in RESERVED_SUBSCRIPTIONS


def parse_topic(text: str) -> TopicName:
    """Parses a full or short topic name; raises `InvalidName` with the reason."""
    return _remembered(text) if len(text) <= REMEMBERED_MAX else _parsed(text)


def _parsed(text: str) -> TopicName:
    domain, separator, path = text.partition("://")
    if not separator:
        domain, path = PERSISTENT, text
        if text.count("/") not in (0, 2):
            raise InvalidName(
                f"Invalid short topic name '{text}', it should be in the format of"
                " <tenant>/<namespace>/<topic> or <topic>"
            )
        if "/" not in text:
            path = f"public/default/{text}"
    if domain in (SCALABLE, SEGMENT):
        return _scalable(domain, path, text)
    if domain not in (PERSISTENT, NON_PERSISTENT):
        raise InvalidName(f"Invalid topic domain: '{domain}' in '{text}'")
    return _from_parts(domain, path, text)


_remembered = lru_cache(maxsize=4096)(_parsed)


def _from_parts(domain: str, path: str, text: str) -> TopicName:
    *names, local = path.split("/", 3)
    if len(names) < 2 or not local:
        raise InvalidName(f"Invalid topic name: {text}")
    namespace = NamespaceName.of(*names)
    return TopicName(domain, namespace.tenant, namespace.local, local, _partition_of(local))


def _scalable(domain: str, path: str, text: str) -> TopicName:
    """A name in the domain of scalable topics or of their segments."""
    tenant, _, rest = path.partition("/")
    namespace, _, local = rest.partition("/")
    topic, _, descriptor = local.rpartition("/")
    if not local or (domain == SEGMENT and not (topic and _DESCRIPTOR.fullmatch(descriptor))):
        raise InvalidName(f"Invalid topic name: {text}")
    name = NamespaceName.of(tenant, namespace)
    return TopicName(domain, name.tenant, name.local, local, -1)


def _partition_of(local: str) -> int:
    match = _PARTITION.match(local) if PARTITION_SUFFIX in local else None
    return int(match.group(2)) if match else -1


def within(namespace: NamespaceName, domain: str, topics: Iterable[str]) -> Iterator[str]:
    """The full topic names that belong to the namespace."""
    prefix = f"{domain}://{namespace}/"
    for topic in topics:
        if topic.startswith(prefix) and (namespace.cluster or "/" not in topic[len(prefix) :]):
            yield topic


def path_part(name: str) -> str:
    """The name as one part of a path, without separators and control characters, and never `.` or `..`.

    Tenants, namespaces, and topics may have such names, as in Apache Pulsar; in a path, they would lead out of their
    store. Other names stay as they are, also encoded ones: what was stored under them before is found again.
    """
    if not name.strip("."):
        return name.replace(".", "%2E") or "%"
    return _UNSAFE.sub(lambda unsafe: quote(unsafe[0], safe="", errors="backslashreplace"), name)


def ledger_name(topic: TopicName) -> str:
    """The managed ledger of a topic, as Pulsar names it: `tenant/namespace/domain/encoded local name`.

    That of a segment ends with its descriptor: `tenant/namespace/segment/encoded name/0000-ffff-0`.
    """
    local, slash, descriptor = topic.local.rpartition("/") if topic.is_segment else (topic.local, "", "")
    return f"{topic.tenant}/{topic.namespace_local}/{topic.domain}/{quote(local, safe='')}{slash}{descriptor}"


def topic_of_ledger(name: str) -> TopicName:
    """The inverse of `ledger_name`."""
    namespace, domain, local = name.rsplit("/", 2)
    segment_namespace, slash, segment_domain = namespace.rpartition("/")
    if slash and segment_domain == SEGMENT and domain not in (PERSISTENT, NON_PERSISTENT):
        return parse_topic(f"{SEGMENT}://{segment_namespace}/{unquote(domain)}/{local}")
    return parse_topic(f"{domain}://{namespace}/{unquote(local)}")
