"""Sealed ledgers are read from their files, and the open one through the broker."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pulsar
import pytest

pytest.importorskip("pyarrow")

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ServerConfig
from broker_core.config.storage import StorageConfig
from broker_core.testing import EmbeddedBroker
from pulsarctl.errors import UsageProblem
from pulsarctl.raw.entry import DamagedEntry
from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.tables.topic_table import TopicTable
from tests.cli.tables.topics import seen_by_official_reader, table
from tests.support.official_client import connect


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def topic(directory: Path) -> str:
    """With a sealed ledger, which the catalog knows, and an open one."""
    name = "persistent://public/default/sealed"
    with broker_on(directory) as broker, closing(connect(broker.service_url)) as client:
        client.subscribe(name, "keeper").close()
        publish(client, name, batched=True)
        publish(client, name, batched=False)
    return name


@pytest.fixture
def broker(directory: Path, topic: str) -> Iterator[EmbeddedBroker]:
    with broker_on(directory) as broker, closing(connect(broker.service_url)) as client:
        publish(client, topic, batched=True)
        yield broker


def broker_on(directory: Path) -> EmbeddedBroker:
    storage = StorageConfig(max_entries_per_ledger=100, min_rollover_minutes=0)
    config = BrokerConfig(server=ServerConfig(broker_port=0, web_port=0), storage=storage)
    return EmbeddedBroker(directory, config=config)


def publish(client: pulsar.Client, topic: str, *, batched: bool) -> None:
    producer = client.create_producer(topic, batching_enabled=batched, batching_max_messages=10)
    for number in range(300):
        producer.send_async(b"%d" % number, None)
    producer.flush()
    producer.close()


def places(reading: TopicTable, parts: list[LedgerRange]) -> list[tuple[str, bytes]]:
    found = [row for part in parts for batch in reading.read(part) for row in batch.to_pylist()]
    return [(row["message_id"], row["value"]) for row in found]


def test_files_and_broker_give_the_same_rows_as_an_official_reader(
    broker: EmbeddedBroker, directory: Path, topic: str
) -> None:
    reading = table(broker, topic, data_directory=str(directory), entries_per_task="70")
    parts = reading.plan()
    assert {bool(part.place.path) for part in parts} == {True, False}
    with closing(connect(broker.service_url)) as client:
        assert places(reading, parts) == seen_by_official_reader(client, topic)


def test_files_are_read_without_the_broker(broker: EmbeddedBroker, directory: Path, topic: str) -> None:
    reading = table(broker, topic, data_directory=str(directory))
    sealed = [part for part in reading.plan() if part.place.path]
    through_broker = places(table(broker, topic), sealed_by_broker(broker, topic, sealed))
    broker.stop()
    assert places(reading, sealed) == through_broker


def sealed_by_broker(broker: EmbeddedBroker, topic: str, sealed: list[LedgerRange]) -> list[LedgerRange]:
    ledgers = {part.ledger_id for part in sealed}
    return [part for part in table(broker, topic).plan() if part.ledger_id in ledgers]


def test_a_damaged_file_is_never_read_as_something_else(broker: EmbeddedBroker, directory: Path, topic: str) -> None:
    reading = table(broker, topic, data_directory=str(directory))
    part = next(part for part in reading.plan() if part.place.path)
    data = bytearray(Path(part.place.path).read_bytes())
    data[len(data) // 3] ^= 1
    Path(part.place.path).write_bytes(data)
    with pytest.raises(DamagedEntry, match=f"cannot read ledger {part.ledger_id} of {topic}"):
        for each in reading.plan():
            list(reading.read(each))


def test_a_directory_of_another_broker_is_not_used(broker: EmbeddedBroker, tmp_path: Path, topic: str) -> None:
    with broker_on(tmp_path / "other") as other, closing(connect(other.service_url)) as client:
        publish(client, "persistent://public/default/unrelated", batched=False)
    parts = table(broker, topic, data_directory=str(tmp_path / "other")).plan()
    assert {part.place.path for part in parts} == {""}


def test_a_directory_that_is_none_is_refused(broker: EmbeddedBroker, tmp_path: Path, topic: str) -> None:
    with pytest.raises(UsageProblem, match="not a data directory"):
        table(broker, topic, data_directory=str(tmp_path / "nothing")).plan()
