"""Names on the command line, and their paths in the admin REST API. Pure.

`t` is short for `persistent://public/default/t`, `tenant/ns/t` for `persistent://tenant/ns/t`. Where a command takes
scalable topics, they are short for `topic://public/default/t` and `topic://tenant/ns/t`. The topic's own part is one
path segment, percent-encoded once. The broker decides whether a name is valid.
"""

import re
from urllib.parse import quote

from pulsarctl.errors import UsageProblem

PARTITION_SUFFIX = "-partition-"
SCALABLE = "topic"  # the domain of scalable topics
SEGMENT = "segment"  # the domain of their segments
COMPACTION_CURSOR = "__compaction"  # the broker's own subscription of a compacted topic
REPLICATORS = "pulsar.repl."  # what the names of the cursors of replicators begin with
_PARTITION = re.compile(rf"(?<=[^/]){PARTITION_SUFFIX}(0|[1-9][0-9]{{0,8}})\Z")  # as in Pulsar, no leading zeros
_SEGMENT = re.compile(rf"{SEGMENT}://([^/]+/[^/]+/.+)/([0-9a-f]{{4}}-[0-9a-f]{{4}}-([0-9]{{1,18}}))\Z", re.DOTALL)


def full_topic(topic: str) -> str:
    """The topic with its domain, tenant and namespace. Raises `UsageProblem`."""
    domain, separator, rest = topic.partition("://")
    if not separator:
        domain, rest = "persistent", topic
        if "/" not in topic:
            rest = f"public/default/{topic}"
    if domain == SCALABLE:
        raise UsageProblem(f"'{topic}' is a scalable topic", hint="use a command of 'pulsarctl scalable-topics'")
    parts = rest.split("/", 2)
    if domain not in ("persistent", "non-persistent") or len(parts) != 3 or not all(parts):
        raise UsageProblem(
            f"'{topic}' is not a topic name",
            hint="use TOPIC, TENANT/NAMESPACE/TOPIC, or persistent://TENANT/NAMESPACE/TOPIC",
        )
    return f"{domain}://{rest}"


def readable_topic(topic: str) -> str:
    """The full name of a topic whose messages a job reads: it may be scalable, or a segment. Raises `UsageProblem`."""
    if is_segment(topic):
        return topic
    return scalable_topic(topic) if is_scalable(topic) else full_topic(topic)


def is_scalable(topic: str) -> bool:
    """Whether the name has the domain of scalable topics."""
    return topic.startswith(f"{SCALABLE}://")


def is_segment(topic: str) -> bool:
    return _SEGMENT.match(topic) is not None


def check_writable(topic: str) -> None:
    """Raises `UsageProblem` for a scalable topic: jobs write with the official client, which has none."""
    if is_scalable(topic) or is_segment(topic):
        raise UsageProblem(
            f"cannot write to {topic}: jobs do not write to scalable topics",
            hint="name a regular topic, or use pulsarctl produce",
        )


def scalable_topic(topic: str) -> str:
    """The scalable topic with its domain, tenant, and namespace. Raises `UsageProblem`."""
    domain, separator, rest = topic.partition("://")
    if not separator:
        domain, rest = SCALABLE, topic if "/" in topic else f"public/default/{topic}"
    parts = rest.split("/", 2)
    if domain != SCALABLE or len(parts) != 3 or not all(parts):
        raise UsageProblem(
            f"'{topic}' is not the name of a scalable topic",
            hint=f"use TOPIC, TENANT/NAMESPACE/TOPIC, or {SCALABLE}://TENANT/NAMESPACE/TOPIC",
        )
    return f"{domain}://{rest}"


def migrated_name(topic: str) -> str:
    """The scalable topic that a regular topic becomes, by its name or that of a partition. Raises `UsageProblem`."""
    return scalable_topic(without_partition(full_topic(topic)).partition("://")[2])


def regular_name(topic: str) -> str:
    """The regular topic of the same name as a scalable one. Raises `UsageProblem`."""
    return full_topic(scalable_topic(topic).partition("://")[2])


def scalable_path(topic: str) -> str:
    """`public/default/t%2F1`. Raises `UsageProblem`."""
    return "/".join(segment(part) for part in scalable_topic(topic).partition("://")[2].split("/", 2))


def segment_name(topic: str, start: int, end: int, segment_id: int) -> str:
    """A segment of a scalable topic, with its range of hashes, as Pulsar names it."""
    return f"{SEGMENT}://{topic.partition('://')[2]}/{start:04x}-{end:04x}-{segment_id}"


def topic_path(topic: str) -> str:
    """`persistent/public/default/t%2F1`, and of a segment `segments/public/default/t%2F1/0000-ffff-0`."""
    if match := _SEGMENT.match(topic):
        return "/".join(["segments", *(segment(part) for part in match[1].split("/", 2)), match[2]])
    domain, _, rest = full_topic(topic).partition("://")
    return "/".join([domain, *(segment(part) for part in rest.split("/", 2))])


def partition_name(topic: str, index: int) -> str:
    """Partition `index` of a partitioned topic, as Pulsar names it."""
    return f"{full_topic(topic)}{PARTITION_SUFFIX}{index}"


def is_partition(topic: str) -> bool:
    """Whether the name is that of a partition."""
    return _PARTITION.search(topic) is not None


def partition_index(topic: str) -> int:
    """The index in the name of a partition, the ID of a segment, -1 for other topics."""
    if match := _SEGMENT.match(topic):
        return int(match[3])
    match = _PARTITION.search(topic)
    return int(match[1]) if match else -1


def without_partition(topic: str) -> str:
    """The topic that a partition or a segment belongs to, or the topic itself."""
    if match := _SEGMENT.match(topic):
        return f"{SCALABLE}://{match[1]}"
    return _PARTITION.sub("", topic)


def namespace_of(topic: str) -> str:
    """`tenant/ns`. Raises `UsageProblem`."""
    return "/".join(readable_topic(topic).partition("://")[2].split("/", 2)[:2])


def is_namespace(name: str) -> bool:
    """Whether it has the form TENANT/NAMESPACE, which no topic has."""
    return name.count("/") == 1


def namespace_path(namespace: str) -> str:
    """`tenant/ns`. Raises `UsageProblem`."""
    parts = namespace.split("/")
    if len(parts) != 2 or not all(parts):
        raise UsageProblem(
            f"'{namespace}' is not a namespace name", hint="use TENANT/NAMESPACE, such as public/default"
        )
    return "/".join(segment(part) for part in parts)


def subscription_segment(name: str) -> str:
    """A subscription as a path segment, encoded twice because brokers decode it twice (`+` and `%` in names)."""
    return segment(segment(name))


def segment(name: str) -> str:
    """One path segment."""
    return quote(name, safe="")
