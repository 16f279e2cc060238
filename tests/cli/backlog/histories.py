"""Random histories of a topic, and a brute-force count of what each subscription has not acknowledged."""

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

import pulsar

from pulsarctl.backlog.counting import Moment
from pulsarctl.backlog.part_count import PartCount
from pulsarctl.backlog.report import SubscriptionBacklog, subscriptions
from pulsarctl.backlog.survey import Survey
from pulsarctl.backlog.surveyor import survey
from pulsarctl.raw.entry_reader import EntryReader
from pulsarctl.tables.access import Access

SUBSCRIPTIONS = ("first", "second", "third")
RECEIVE_MS = 20_000


class Broker(Protocol):
    """Ours or a real Pulsar."""

    service_url: str
    http_url: str


@dataclass(slots=True)
class Addresses:
    """The addresses of a broker that the test reaches in another way."""

    service_url: str
    http_url: str


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


def place(message: pulsar.Message) -> Place:
    where = message.message_id()
    return where.partition(), where.ledger_id(), where.entry_id(), where.batch_index()


def take_inventory(broker: Broker, client: pulsar.Client, history: History) -> None:
    reader = client.create_reader(history.topic, pulsar.MessageId.earliest, receiver_queue_size=1000)
    while reader.has_message_available():
        message = reader.read_next(RECEIVE_MS)
        history.messages[place(message)] = (message.partition_key(), len(message.data()), message.producer_name())
    reader.close()
    with EntryReader(broker.service_url, history.topic) as entries:
        for entry in entries.to_end():
            entry_place = (entry.partition, entry.ledger_id, entry.entry_id)
            history.entry_bytes[entry_place] = entry.stored_bytes
            history.published[entry_place] = entry.metadata.publish_time


def acknowledge(client: pulsar.Client, history: History, chosen: random.Random, *, whole_entries: bool = False) -> None:
    """The first subscription acknowledges nothing, the second some messages or entries, the third a beginning."""
    for name in ("second", "third"):
        wanted = _some(history, name, chosen, whole_entries)
        consumer = client.subscribe(
            history.topic,
            name,
            pulsar.ConsumerType.Shared,
            batch_index_ack_enabled=not whole_entries,
            receiver_queue_size=1000,
        )
        for _ in history.messages:
            message = consumer.receive(RECEIVE_MS)
            if place(message) in wanted:
                consumer.acknowledge(message)
        consumer.close()
        history.acknowledged[name] = wanted


def _some(history: History, name: str, chosen: random.Random, whole_entries: bool) -> set[Place]:
    """Places in a random half, or before a random entry."""
    places = sorted(history.messages)
    entries = sorted({each[:3] for each in places})
    if name == "third":
        kept = set(entries[: chosen.randint(0, len(entries))])
        return {each for each in places if each[:3] in kept}
    if whole_entries:
        kept = {each for each in entries if chosen.random() < 0.5}
        return {each for each in places if each[:3] in kept}
    return {each for each in places if chosen.random() < 0.5}


def report(broker: Broker, topic: str) -> tuple[SubscriptionBacklog, ...]:
    surveyed, access = survey_of(broker, topic)
    parts = surveyed.parts(tasks_min=4)
    moment = Moment(int(time.time() * 1000))
    return subscriptions(surveyed, parts, [PartCount(access, moment)(part) for part in parts])


def survey_of(broker: Broker, topic: str) -> tuple[Survey, Access]:
    access = Access(service_url=broker.service_url, admin_url=broker.http_url)
    admin = access.admin()
    try:
        return survey(admin, admin.topics.parts(topic), ()), access
    finally:
        admin.close()


def counts(backlog: SubscriptionBacklog) -> dict[str, object]:
    tally = backlog.tally
    return {
        "messages": tally.messages,
        "entries": tally.entries,
        "bytes": tally.bytes,
        "oldest": tally.oldest_ms,
        "keys": tally.keys.counts,
        "producers": tally.producers.counts,
        "sizes": [each.size for each in tally.largest],
    }
