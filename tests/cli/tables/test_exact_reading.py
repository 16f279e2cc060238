"""A range is read exactly, or the reader says which entries are gone."""

import random
import time
from collections.abc import Iterator

import pulsar
import pytest

pytest.importorskip("pyarrow")

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ConnectionConfig, ServerConfig
from broker_core.config.storage import StorageConfig
from broker_core.testing import EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from pulsarctl.tables.data_loss import DataLoss
from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.tables.topic_table import TopicTable
from tests.broker.transactions.commands import begin, end
from tests.broker.transactions.commands import publish as publish_in
from tests.cli.tables.topics import rows, seen_by_official_reader, table, values
from tests.support.cutting_relay import CuttingRelay
from tests.support.official_client import connect
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer

CHUNK_BYTES = 20_000


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    """Ledgers roll after 100 entries, and a large message has many chunks."""
    storage = StorageConfig(max_entries_per_ledger=100, min_rollover_minutes=0)
    connection = ConnectionConfig(max_message_size=CHUNK_BYTES)
    with EmbeddedBroker(
        config=BrokerConfig(server=ServerConfig(broker_port=0, web_port=0), storage=storage, connection=connection)
    ) as broker:
        yield broker


@pytest.fixture
def client(broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    client = connect(broker.service_url)
    yield client
    client.close()


def publish(client: pulsar.Client, topic: str, count: int, *, batched: bool) -> None:
    client.subscribe(topic, "keeper").close()
    producer = client.create_producer(topic, batching_enabled=batched, batching_max_messages=10)
    for number in range(count):
        producer.send_async(b"%06d" % number * 20, None)
    producer.flush()
    producer.close()


@pytest.mark.parametrize("batched", [True, False])
def test_each_message_is_read_once_while_connections_are_cut(
    broker: EmbeddedBroker, client: pulsar.Client, topic: str, batched: bool
) -> None:
    publish(client, topic, 1000 if batched else 400, batched=batched)
    chosen = random.Random(7)
    sizes = (chosen.randint(2_000, 10_000) for _ in range(100))
    with CuttingRelay(broker, sizes) as relay:
        reading = table(broker, topic, service_url=relay.url, columns="message_id,value", timeout_seconds="30")
        found = [(row["message_id"], row["value"]) for row in rows(reading)]
    assert relay.cuts > 3
    assert found == seen_by_official_reader(client, topic)


def test_a_reader_waits_for_nothing_after_the_last_entry(monkeypatch: pytest.MonkeyPatch, topic: str) -> None:
    """Not even if the last entries are a little smaller than those before, so that fewer bytes come than expected."""
    for name in ("SILENCE_SECONDS", "GATHER_SECONDS"):
        monkeypatch.setattr(f"pulsarctl.raw.broker_connection.{name}", 30.0)
    sizes = [10_000] * 300 + [9_800] * 40
    with EmbeddedBroker() as broker:
        client = connect(broker.service_url)
        client.subscribe(topic, "keeper").close()
        producer = client.create_producer(topic, batching_enabled=False)
        for size in sizes:
            producer.send_async(bytes(size), None)
        producer.flush()
        started = time.monotonic()
        assert [len(row["value"]) for row in rows(table(broker, topic, tasks_min="1", columns="value"))] == sizes
        assert time.monotonic() - started < 15
        client.close()


def test_trimmed_entries_of_the_plan_are_reported(broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    reading = table(broker, topic, tasks_min="1", decode="raw")
    gone, *_ = planned_and_trimmed(broker, client, reading, topic)
    with pytest.raises(DataLoss, match=rf"entries {gone.ledger_id}:0 to {gone.ledger_id}:{gone.last} of {topic} are"):
        list(reading.read(gone))


def test_trimmed_entries_are_skipped_on_request(broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    reading = table(broker, topic, fail_on_data_loss="false", tasks_min="1", decode="raw")
    _, *kept = planned = planned_and_trimmed(broker, client, reading, topic)
    read = [row["ledger_id"] for part in planned for batch in reading.read(part) for row in batch.to_pylist()]
    assert read == [part.ledger_id for part in kept for _ in range(part.entries)]


def planned_and_trimmed(
    broker: EmbeddedBroker, client: pulsar.Client, reading: TopicTable, topic: str
) -> list[LedgerRange]:
    """The parts of several ledgers, of which the first is deleted after the plan."""
    publish(client, topic, 150, batched=False)
    publish(client, topic, 50, batched=False)
    plan = reading.plan()
    assert len(plan) > 1
    consumer = client.subscribe(topic, "keeper")
    consumer.acknowledge_cumulative(pulsar.MessageId(-1, plan[0].ledger_id, plan[0].last, -1))
    consumer.close()
    trim(broker, topic)
    return plan


def trim(broker: EmbeddedBroker, topic: str) -> None:
    admin = table(broker, topic).options.access.admin()
    admin.topics.trim(topic)
    admin.close()


@pytest.mark.parametrize("entries_per_task", ["1", "3", "1000"])
def test_chunks_are_joined_wherever_the_plan_cuts(
    broker: EmbeddedBroker, client: pulsar.Client, topic: str, entries_per_task: str
) -> None:
    client.subscribe(topic, "keeper").close()
    large = [random.Random(seed).randbytes(4 * CHUNK_BYTES) for seed in range(2)]
    for compression in (pulsar.CompressionType.NONE, pulsar.CompressionType.ZSTD):
        chunked = client.create_producer(
            topic, batching_enabled=False, chunking_enabled=True, compression_type=compression
        )
        for value in large:
            chunked.send(value)
        chunked.close()
    read = table(broker, topic, entries_per_task=entries_per_task)
    assert values(read) == large * 2
    assert {row["chunk_count"] for row in rows(read)} == {5}


def test_an_entry_of_a_chunk_is_a_row_on_request(broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "keeper").close()
    chunked = client.create_producer(topic, batching_enabled=False, chunking_enabled=True)
    chunked.send(b"x" * 3 * CHUNK_BYTES)
    chunked.close()
    assert [row["chunk_index"] for row in rows(table(broker, topic, unit="entry"))] == [0, 1, 2, 3]


def test_a_plan_may_start_and_end_inside_a_batch(broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, 10, batched=True)
    (ledger_id,) = {part.ledger_id for part in table(broker, topic).plan()}
    found = values(table(broker, topic, start=f"{ledger_id}:0:-1:3", end=f"{ledger_id}:0:-1:5"))
    assert found == [b"%06d" % number * 20 for number in (3, 4, 5)]


def test_messages_of_a_large_aborted_transaction_are_no_loss(topic: str) -> None:
    with EmbeddedBroker() as broker, RawClient(broker.service_url) as raw:
        raw.ask(producer(topic), BaseCommand.PRODUCER_SUCCESS)
        transaction = begin(raw)
        for number in range(1100):
            publish_in(raw, number, b"aborted", transaction)
        end(raw, transaction, commit=False)
        publish_in(raw, 1100, b"kept")
        assert values(table(broker, topic, decode="raw", tasks_min="1")) == [b"kept"]
