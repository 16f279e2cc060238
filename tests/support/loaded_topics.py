"""Topics of an embedded broker, as objects."""

from broker_core.names import TopicName, parse_topic
from broker_core.testing import EmbeddedBroker
from broker_core.topic.topic import Topic


def loaded(broker: EmbeddedBroker, topic: str | TopicName, *, create: bool = False) -> Topic:
    """Loads the topic if it is not loaded."""
    name = parse_topic(topic) if isinstance(topic, str) else topic
    return broker.call(broker.broker.topics.get(name, create=create))
