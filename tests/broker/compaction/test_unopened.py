"""A compacted ledger that cannot be opened: nothing is passed over, and nothing replaces it."""

import errno
from collections.abc import Iterator

import pulsar
import pytest

from broker_core.compaction.compaction import CompactionState
from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from tests.clients.compacting import compact, read_compacted, start
from tests.clients.conftest import TIMEOUT_MS
from tests.clients.publishing import publish_keyed
from tests.support.condition import wait_until
from tests.support.faulty_disk import FaultyDisk
from tests.support.loaded_topics import loaded
from tests.support.official_client import connect

TOPIC = "persistent://public/default/t"
OLD = [(f"k{n}", b"old") for n in range(5)]
NEW = [("new", b"new")]


@pytest.fixture
def broker(disk: FaultyDisk) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(disk=disk) as broker:
        yield broker
        disk.failures.clear()


@pytest.fixture
def client(broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    """The topic has five keys, all of them in its compacted ledger only."""
    client = connect(broker.service_url)
    publish_keyed(client, TOPIC, OLD)
    compact(broker, TOPIC)
    client.subscribe(TOPIC, "s").close()  # without one, retention keeps messages for ten minutes
    broker.call(loaded(broker, TOPIC).trim())
    wait_until(lambda: loaded(broker, TOPIC).ledger.size == 0, 30)
    yield client
    client.close()


def unload(broker: EmbeddedBroker) -> None:
    broker.call(broker.broker.topics.unload(parse_topic(TOPIC)))


def compaction_error(broker: EmbeddedBroker) -> str:
    topic = start(broker, TOPIC)
    wait_until(lambda: topic.compaction.state is not CompactionState.RUNNING, 20)
    assert topic.compaction.state is CompactionState.ERROR
    return topic.compaction.last_error


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO])
def test_what_could_not_be_opened_once_is_read_later(
    broker: EmbeddedBroker, disk: FaultyDisk, client: pulsar.Client, number: int
) -> None:
    disk.failures["open", ".compacted"] = number
    unload(broker)
    publish_keyed(client, TOPIC, NEW)
    disk.failures.clear()
    assert read_compacted(client, TOPIC) == OLD + NEW
    assert loaded(broker, TOPIC).compaction.state is CompactionState.SUCCESS


def test_a_compaction_waits_until_the_last_result_can_be_opened(
    broker: EmbeddedBroker, disk: FaultyDisk, client: pulsar.Client
) -> None:
    disk.failures["open", ".compacted"] = errno.EIO
    unload(broker)
    publish_keyed(client, TOPIC, NEW)
    assert "Input/output error" in compaction_error(broker)
    disk.failures.clear()
    compact(broker, TOPIC)
    assert read_compacted(client, TOPIC) == OLD + NEW


def test_a_damaged_result_stays_until_its_loss_is_accepted(broker: EmbeddedBroker, client: pulsar.Client) -> None:
    [path] = broker.broker.storage.path.rglob("*.compacted")
    path.write_bytes(b"damaged" + path.read_bytes()[7:])
    unload(broker)
    publish_keyed(client, TOPIC, NEW)
    assert "is damaged" in compaction_error(broker)
    assert path.exists()
    reader = client.create_reader(TOPIC, pulsar.MessageId.earliest, is_read_compacted=True)
    topic = loaded(broker, TOPIC)
    wait_until(lambda: any(each.delivery.dispatcher.reader.failure for each in topic.subscriptions.values()), 30)
    broker.call(broker.broker.storage.accept_loss())
    assert reader.read_next(TIMEOUT_MS).data() == b"new"
    compact(broker, TOPIC)
    assert not path.exists()
