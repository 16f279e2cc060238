"""Random histories of a topic, and a brute-force count of what each subscription has not acknowledged."""

import random
from collections import Counter
from dataclasses import dataclass, field

import pulsar

from broker_core.testing import EmbeddedBroker
from pulsarctl.raw.entry_reader import EntryReader

SUBSCRIPTIONS = ("first", "second", "third")
RECEIVE_MS = 20_000

Place = tuple[int, int, int, int]  # partition, ledger, entry, batch index


@dataclass(slots=True)
class History:
    """Every message by place, with its key, size, and producer; entries by place; and what each has acknowledged."""

    topic: str
    messages: dict[Place, tuple[str, int, str]] = field(default_factory=dict)
    entry_bytes: dict[tuple[int, int, int], int] = field(default_factory=dict)
    published: dict[tuple[int, int, int], int] = field(default_factory=dict)
    acknowledged: dict[str, set[Place]] = field(default_factory=lambda: {name: set() for name in SUBSCRIPTIONS})

    def left(self, subscription: str) -> list[Place]:
        return sorted(self.messages.keys() - self.acknowledged[subscription])

    def counts(self, subscription: str) -> dict[str, object]:
        """By iterating over everything that is left."""
        left = self.left(subscription)
        entries = {place[:3] for place in left}
        return {
            "messages": len(left),
            "entries": len(entries),
            "bytes": sum(self.entry_bytes[each] for each in entries),
            "oldest": min((self.published[each] for each in entries), default=None),
            "keys": dict(Counter(key for place in left if (key := self.messages[place][0]))),
            "producers": dict(Counter(self.messages[place][2] for place in left)),
            "sizes": sorted((self.messages[place][1] for place in left), reverse=True)[:10],
        }


def publish(client: pulsar.Client, history: History, partitions: int, chosen: random.Random) -> None:
    """Batched and not, compressed and not, with and without keys."""
    for _ in range(chosen.randint(2, 4)):
        producer = client.create_producer(
            history.topic + (f"-partition-{chosen.randrange(partitions)}" if partitions else ""),
            batching_enabled=chosen.random() < 0.7,
            batching_max_messages=chosen.randint(2, 20),
            compression_type=chosen.choice((pulsar.CompressionType.NONE, pulsar.CompressionType.LZ4)),
        )
        for _ in range(chosen.randint(0, 60)):
            key = chosen.choice((None, *"abc"))
            producer.send_async(b"x" * chosen.randint(0, 3000), None, partition_key=key)
        producer.flush()
        producer.close()


def take_inventory(broker: EmbeddedBroker, client: pulsar.Client, history: History) -> None:
    reader = client.create_reader(history.topic, pulsar.MessageId.earliest, receiver_queue_size=1000)
    while reader.has_message_available():
        message = reader.read_next(RECEIVE_MS)
        where = message.message_id()
        place = (where.partition(), where.ledger_id(), where.entry_id(), where.batch_index())
        history.messages[place] = (message.partition_key(), len(message.data()), message.producer_name())
    reader.close()
    with EntryReader(broker.service_url, history.topic) as entries:
        for entry in entries.to_end():
            entry_place = (entry.partition, entry.ledger_id, entry.entry_id)
            history.entry_bytes[entry_place] = entry.stored_bytes
            history.published[entry_place] = entry.metadata.publish_time


def acknowledge(client: pulsar.Client, history: History, chosen: random.Random) -> None:
    """The first subscription acknowledges nothing, the second single messages, the third a beginning."""
    for name in ("second", "third"):
        consumer = client.subscribe(
            history.topic, name, pulsar.ConsumerType.Shared, batch_index_ack_enabled=True, receiver_queue_size=1000
        )
        limit = chosen.randint(0, len(history.messages))
        for number in range(len(history.messages)):
            message = consumer.receive(RECEIVE_MS)
            if number < limit if name == "third" else chosen.random() < 0.5:
                consumer.acknowledge(message)
                where = message.message_id()
                place = (where.partition(), where.ledger_id(), where.entry_id(), where.batch_index())
                history.acknowledged[name].add(place)
        consumer.close()
