"""The cost of compaction and compacted reads, and the state after a kill during compaction."""

import errno
import http.client
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest

from broker_core.compaction.compaction import Compaction, CompactionState
from broker_core.config.broker import BrokerConfig
from broker_core.config.storage import StorageConfig
from broker_core.names import parse_topic
from broker_core.storage.disk import RealDisk
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from tests.clients.compacting import compact, read_compacted, start
from tests.clients.conftest import TIMEOUT_MS
from tests.clients.publishing import publish_keyed
from tests.support.broker_process import BrokerProcess, port_of
from tests.support.condition import wait_until
from tests.support.faulty_disk import FaultyDisk

pytestmark = pytest.mark.feature("compaction")

TOPIC = "persistent://public/default/keyed"
KEYS = 100


class CountingDisk(RealDisk):
    """Counts the bytes that are read."""

    def __init__(self) -> None:
        self.read = 0

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        data = super().pread(fd, size, offset)
        self.read += len(data)
        return data


def test_a_reader_of_a_small_residue_reads_little_of_the_disk() -> None:
    disk = CountingDisk()
    storage = StorageConfig(cache_mb=1, max_entries_per_ledger=2000)
    with EmbeddedBroker(config=BrokerConfig(server=FREE_PORTS, storage=storage), disk=disk) as broker:
        client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
        publish_keyed(client, TOPIC, [(str(n % KEYS), b"%04d" % n + bytes(1000)) for n in range(100 * KEYS)])
        size = compact(broker, TOPIC).ledger.size
        disk.read = 0
        assert len(read_compacted(client, TOPIC)) == KEYS
        assert 0 < disk.read <= size * 0.05
        client.close()


@pytest.fixture
def process(tmp_path: Path) -> Iterator[BrokerProcess]:
    broker = BrokerProcess(tmp_path / "data", "managedLedgerMaxEntriesPerLedger=1000").start()
    yield broker
    broker.stop()


def request(broker: BrokerProcess, method: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", int(port_of(broker.http_url)), timeout=10)
    try:
        connection.request(method, "/admin/v2/persistent/public/default/keyed/compaction")
        return connection.getresponse().read()
    finally:
        connection.close()


@pytest.mark.slow
def test_a_kill_in_the_middle_leaves_the_old_result_or_the_new_one(process: BrokerProcess) -> None:
    client = pulsar.Client(process.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    pause = threading.Event()
    chance = random.Random(7)
    for generation in range(5):
        messages = [(str(n % KEYS), b"%d:%d" % (generation, n)) for n in range(200 * KEYS)]
        publish_keyed(client, TOPIC, messages, batched=True)
        request(process, "PUT")
        pause.wait(chance.uniform(0, 0.3))
        process.kill()
        process.start()
        found = dict(read_compacted(client, TOPIC))
        assert found == dict(messages[-KEYS:])
    request(process, "PUT")
    wait_until(lambda: b"RUNNING" not in request(process, "GET"), 30)
    assert b"SUCCESS" in request(process, "GET")
    assert dict(read_compacted(client, TOPIC)) == dict(messages[-KEYS:])
    client.close()


def test_unloading_a_topic_ends_its_compaction(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as broker:
        client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
        publish_keyed(client, TOPIC, [(str(n % KEYS), b"v") for n in range(20_000)], batched=True)
        topic = broker.call(broker.broker.topics.get(parse_topic(TOPIC)))

        async def start_and_unload() -> CompactionState:
            topic.compaction.start()
            await broker.broker.topics.unload(topic.name)
            return topic.compaction.state

        assert broker.call(start_and_unload()) is CompactionState.ERROR
        assert Compaction.CURSOR not in client_visible_subscriptions(broker)
        reader = client.create_reader(TOPIC, pulsar.MessageId.earliest)
        assert reader.read_next(timeout_millis=TIMEOUT_MS).data() == b"v"
        client.close()


def client_visible_subscriptions(broker: EmbeddedBroker) -> list[str]:
    topic = broker.call(broker.broker.topics.get(parse_topic(TOPIC)))
    return list(topic.subscriptions)


class DiskThatBreaksAtTheEnd(FaultyDisk):
    """Fails every sync of the journal once a compacted ledger is on disk."""

    breaks = False

    def sync(self, fd: int) -> None:
        super().sync(fd)
        if self.breaks and self.calls[-1][1].endswith(".compacted"):
            self.failures["sync", ".journal"] = errno.EIO


def test_a_compaction_whose_last_sync_fails_leaves_the_old_result(tmp_path: Path) -> None:
    disk = DiskThatBreaksAtTheEnd()
    messages = [(str(n), b"old") for n in range(KEYS)]
    with EmbeddedBroker(tmp_path / "data", disk=disk) as broker:
        client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
        publish_keyed(client, TOPIC, messages)
        compaction = compact(broker, TOPIC).compaction
        horizon, compacted = compaction.horizon, compaction.compacted
        publish_keyed(client, TOPIC, [("0", b"new")])

        disk.breaks = True
        start(broker, TOPIC)
        wait_until(lambda: compaction.state is not CompactionState.RUNNING, 20)
        disk.breaks = False
        disk.failures.clear()
        assert compaction.state is CompactionState.ERROR
        assert (compaction.horizon, compaction.compacted) == (horizon, compacted)
        found = dict(read_compacted(client, TOPIC))
        assert found == {**dict(messages), "0": b"new"}
        client.close()
