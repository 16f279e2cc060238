"""Sets policies of topics and namespaces of a broker in the same process."""

from typing import Any

from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker


def set_topic_policies(broker: EmbeddedBroker, topic: str, **policies: Any) -> None:
    """Fields of `PolicySet`; None removes one. The topic need not exist."""
    broker.call(broker.broker.tenancy.topic_policies.set(parse_topic(topic), **policies))


def set_namespace_policies(broker: EmbeddedBroker, topic: str, **policies: Any) -> None:
    """Sets policies of the topic's namespace."""
    broker.call(broker.broker.tenancy.set_namespace_policies(parse_topic(topic).namespace, **policies))


def make_namespace(broker: EmbeddedBroker, name: str) -> str:
    """Creates the namespace `public/<name>`; returns the prefix of its topic names."""
    topic = f"persistent://public/{name}/"
    broker.call(broker.broker.tenancy.create_namespace(parse_topic(f"{topic}t").namespace))
    return topic
