"""Access modes, names, and initial sequence IDs with the official client."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.clients.conftest import TIMEOUT_MS
from tests.support.broker_process import BrokerProcess
from tests.support.condition import wait_until

pytestmark = pytest.mark.feature("access_modes", "producer_names", "sequence_ids")

Mode = pulsar.ProducerAccessMode


@pytest.fixture
def second(pulsar_broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    client = pulsar.Client(
        pulsar_broker.service_url,
        operation_timeout_seconds=10,
        logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error),
    )
    yield client
    client.close()


def test_an_exclusive_producer_keeps_others_out(client: pulsar.Client, second: pulsar.Client, topic: str) -> None:
    owner = client.create_producer(topic, access_mode=Mode.Exclusive)
    with pytest.raises(pulsar.ProducerFenced):
        second.create_producer(topic, access_mode=Mode.Exclusive)
    with pytest.raises(pulsar.ProducerBusy):
        second.create_producer(topic)
    owner.close()
    second.create_producer(topic).send(b"free again")


def test_an_exclusive_producer_does_not_join_shared_ones(
    client: pulsar.Client, second: pulsar.Client, topic: str
) -> None:
    client.create_producer(topic)
    with pytest.raises(pulsar.ProducerFenced):
        second.create_producer(topic, access_mode=Mode.Exclusive)


def test_a_waiting_producer_gets_the_topic_when_it_is_free(
    client: pulsar.Client, second: pulsar.Client, topic: str
) -> None:
    owner = client.create_producer(topic, access_mode=Mode.Exclusive)
    created: list[pulsar.Producer] = []
    waiting = threading.Thread(
        target=lambda: created.append(second.create_producer(topic, access_mode=Mode.WaitForExclusive))
    )
    waiting.start()
    owner.send(b"mine")
    assert not created
    owner.close()
    waiting.join(timeout=TIMEOUT_MS / 1000)
    created[0].send(b"mine now")


def test_fencing_takes_the_topic_from_its_owner(client: pulsar.Client, second: pulsar.Client, topic: str) -> None:
    owner = client.create_producer(topic, access_mode=Mode.Exclusive)
    owner.send(b"mine")
    taker = second.create_producer(topic, access_mode=Mode.ExclusiveWithFencing)
    taker.send(b"mine now")

    def fenced() -> bool:
        try:
            owner.send(b"still mine?")
        except (pulsar.ProducerFenced, pulsar.AlreadyClosed):
            return True
        return False

    wait_until(fenced, 10)
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    assert [reader.read_next(TIMEOUT_MS).data() for _ in range(2)] == [b"mine", b"mine now"]
    assert not reader.has_message_available()


def test_a_name_belongs_to_one_producer_at_a_time(client: pulsar.Client, second: pulsar.Client, topic: str) -> None:
    owner = client.create_producer(topic, producer_name="p")
    with pytest.raises(pulsar.ProducerBusy):
        second.create_producer(topic, producer_name="p")
    owner.close()
    assert second.create_producer(topic, producer_name="p").producer_name() == "p"


def test_sequence_ids_continue_from_the_initial_one(client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic, initial_sequence_id=41)
    producer.send(b"x")
    assert producer.last_sequence_id() == 42


@pytest.mark.slow
def test_an_exclusive_producer_keeps_its_topic_through_kill_9(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data").start()
    client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    try:
        owner = client.create_producer("owned", access_mode=Mode.Exclusive)
        owner.send(b"before")
        broker.kill()
        broker.start()
        owner.send(b"after")
        with pytest.raises(pulsar.ProducerFenced):
            client.create_producer("owned", access_mode=Mode.Exclusive)
    finally:
        client.close()
        broker.stop()
