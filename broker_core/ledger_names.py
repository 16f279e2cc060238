"""The managed ledger of a topic, as Pulsar names it: tenant/namespace/domain/encoded local name. Pure.

In the older form of topics, the namespace is `cluster/namespace`.
"""

from urllib.parse import quote, unquote

from broker_core.names import TopicName, parse_topic


def ledger_name(topic: TopicName) -> str:
    return f"{topic.tenant}/{topic.namespace_local}/{topic.domain}/{quote(topic.local, safe='')}"


def topic_of_ledger(name: str) -> TopicName:
    """The inverse of `ledger_name`."""
    namespace, domain, local = name.rsplit("/", 2)
    return parse_topic(f"{domain}://{namespace}/{unquote(local)}")
