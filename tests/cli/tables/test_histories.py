"""A table equals what an official reader sees, after any history of a topic."""

import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import closing

import pulsar
import pytest

pytest.importorskip("pyarrow")

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ConnectionConfig, ServerConfig
from broker_core.config.storage import StorageConfig
from broker_core.testing import EmbeddedBroker
from tests.cli.tables.topics import rows, seen_by_official_reader, table
from tests.clients.compacting import compact
from tests.clients.receiving import receive
from tests.support.cutting_relay import CuttingRelay
from tests.support.official_client import connect
from tests.support.offloaded_topic import OffloadedTopic, in_directory

NUMBERS = itertools.count()
CHUNK_BYTES = 10_000
COMPRESSIONS = (
    pulsar.CompressionType.NONE,
    pulsar.CompressionType.LZ4,
    pulsar.CompressionType.ZLib,
    pulsar.CompressionType.ZSTD,
    pulsar.CompressionType.SNAPPY,
)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """Ledgers roll after 20 entries, and are offloaded to a directory."""
    config = BrokerConfig(
        server=ServerConfig(broker_port=0, web_port=0),
        storage=StorageConfig(max_entries_per_ledger=20, min_rollover_minutes=0),
        connection=ConnectionConfig(max_message_size=CHUNK_BYTES),
        offload=in_directory(tmp_path_factory.mktemp("store")),
    )
    with EmbeddedBroker(config=config) as broker:
        yield broker


@pytest.fixture(scope="module")
def client(broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    with closing(connect(broker.service_url)) as client:
        yield client


def place(message_id: pulsar.MessageId) -> tuple[int, int]:
    return message_id.ledger_id(), message_id.entry_id()


class History:
    """One topic, and what its one subscription has acknowledged."""

    def __init__(self, broker: EmbeddedBroker, client: pulsar.Client, seed: int) -> None:
        self._broker, self._client = broker, client
        self._chance = random.Random(seed)
        self.topic = f"persistent://public/default/history-{next(NUMBERS)}"
        client.subscribe(self.topic, "s").close()

    def publish_single(self) -> None:
        self._publish(batching_enabled=False)

    def publish_batches(self) -> None:
        self._publish(batching_enabled=True, batching_max_messages=self._chance.randint(2, 9))

    def publish_chunked(self) -> None:
        self._publish(batching_enabled=False, chunking_enabled=True, size=3 * CHUNK_BYTES, count=2)

    def _publish(self, *, size: int = 30, count: int = 12, **options: bool | int) -> None:
        compression = self._chance.choice(COMPRESSIONS)
        shortest = 0 if compression == pulsar.CompressionType.NONE else 1  # official clients cannot decompress nothing
        producer = self._client.create_producer(self.topic, compression_type=compression, **options)
        for number in range(count):
            value = self._chance.randbytes(self._chance.randint(shortest, size))
            key = self._chance.choice((None, "", "k", "ключ"))
            producer.send_async(value, None, partition_key=key, properties={"n": str(number)})
        producer.flush()
        producer.close()

    def acknowledge_and_trim(self) -> None:
        """Some of the oldest messages; what no subscription needs is deleted."""
        consumer = self._client.subscribe(self.topic, "s")
        with closing(consumer):
            for _ in range(self._chance.randint(1, 30)):
                try:
                    consumer.acknowledge_cumulative(consumer.receive(200))
                except pulsar.Timeout:
                    break
        admin = table(self._broker, self.topic, decode="raw").options.access.admin()
        with closing(admin):
            admin.topics.trim(self.topic)

    def seek(self) -> None:
        consumer = self._client.subscribe(self.topic, "s")
        with closing(consumer):
            consumer.seek(pulsar.MessageId.earliest)

    def left(self) -> set[tuple[int, int]]:
        """The entries that the subscription still delivers, at least in part."""
        cursor = self._broker.broker.topics.loaded[self.topic].subscriptions["s"].cursor
        found: set[tuple[int, int]] = set()
        with closing(self._client.subscribe(self.topic, "s")) as consumer:
            last = place(consumer.get_last_message_id())
            while cursor.backlog_messages and last not in found:
                found.add(place(receive(consumer, 1)[0].message_id()))
        return found

    def offload(self) -> None:
        """Every sealed ledger; half the time only the store has them from now on."""
        one = OffloadedTopic(self._broker, self._client, self.topic)
        one.offload()
        if self._chance.random() < 0.5:
            one.drop_files()

    def compact(self) -> None:
        compact(self._broker, self.topic)

    def cuts(self) -> Iterator[int]:
        """How many bytes each of the first connections passes on."""
        return iter([self._chance.randint(1_000, 60_000) for _ in range(4)])

    def unload(self) -> None:
        admin = table(self._broker, self.topic, decode="raw").options.access.admin()
        with closing(admin):
            admin.topics.unload(self.topic)


STEPS: tuple[Callable[[History], None], ...] = (
    History.publish_single,
    History.publish_batches,
    History.publish_chunked,
    History.acknowledge_and_trim,
    History.seek,
    History.offload,
    History.compact,
    History.unload,
)


@settings(
    max_examples=15,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    steps=st.lists(st.sampled_from(STEPS), min_size=2, max_size=6),
    seed=st.integers(0, 1000),
    entries_per_task=st.sampled_from(["1", "7", "1000"]),
)
def test_a_table_equals_what_an_official_reader_sees(
    broker: EmbeddedBroker,
    client: pulsar.Client,
    steps: list[Callable[[History], None]],
    seed: int,
    entries_per_task: str,
) -> None:
    history = History(broker, client, seed)
    for step in steps:
        step(history)
    with CuttingRelay(broker, history.cuts()) as relay:
        given = {"columns": "message_id,value", "entries_per_task": entries_per_task, "service_url": relay.url}
        read = table(broker, history.topic, **given)
        found = [(row["message_id"], row["value"] or b"") for row in rows(read)]
    assert found == seen_by_official_reader(client, history.topic)
    left = table(broker, history.topic, subscriptions="s", columns="ledger_id,entry_id")
    assert {tuple(row.values()) for row in rows(left)} == history.left()
