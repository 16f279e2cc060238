"""Compaction on request, and what a compacted reader gets."""

import pulsar

from broker_core.compaction.compaction import CompactionState
from broker_core.testing import EmbeddedBroker
from broker_core.topic.topic import Topic
from tests.clients.conftest import TIMEOUT_MS
from tests.support.condition import wait_until
from tests.support.loaded_topics import loaded


def start(broker: EmbeddedBroker, topic: str) -> Topic:
    found = loaded(broker, topic)

    async def begin() -> None:
        found.compaction.start()

    broker.call(begin())
    return found


def compact(broker: EmbeddedBroker, topic: str) -> Topic:
    found = start(broker, topic)
    wait_until(lambda: found.compaction.state is not CompactionState.RUNNING, 20)
    assert found.compaction.state is CompactionState.SUCCESS, found.compaction.last_error
    return found


def read_compacted(client: pulsar.Client, topic: str) -> list[tuple[str, bytes]]:
    """The remaining messages by key.

    This client returns the empty slots of a compacted batch as messages without key and value, also with
    Apache Pulsar 4.0.7. They are left out.
    """
    reader = client.create_reader(topic, pulsar.MessageId.earliest, is_read_compacted=True)
    found = []
    while reader.has_message_available():
        message = reader.read_next(timeout_millis=TIMEOUT_MS)
        if message.partition_key() or message.data():
            found.append((message.partition_key(), message.data()))
    reader.close()
    return found
