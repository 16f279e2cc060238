"""Producers that wait, are fenced, return, or use the same name, command by command."""

import errno
from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.broker import Broker
from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ConnectionConfig
from broker_core.config.topic import TopicConfig
from broker_core.names import parse_topic
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.condition import wait_until
from tests.support.faulty_disk import FaultyDisk
from tests.support.loaded_topics import loaded
from tests.support.managed_ledgers import managed_ledger
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import close_producer, producer, send

EXCLUSIVE, WAIT, FENCING = pb.Exclusive, pb.WaitForExclusive, pb.ExclusiveWithFencing
SUCCESS = BaseCommand.PRODUCER_SUCCESS
SLOW = 0.5  # seconds of a sync


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return f"persistent://public/default/{request.node.name.replace('[', '-').replace(']', '')}"


@pytest.fixture
def other(pulsar_broker: EmbeddedBroker) -> Iterator[RawClient]:
    with RawClient(pulsar_broker.service_url) as client:
        yield client


def create(client: RawClient, topic: str, mode: int = pb.Shared, **fields: Any) -> pb.CommandProducerSuccess:
    found: pb.CommandProducerSuccess = client.ask(producer(topic, producer_access_mode=mode, **fields), SUCCESS)
    return found


def refused(client: RawClient, topic: str, mode: int = pb.Shared, **fields: Any) -> int:
    answer = client.ask(producer(topic, producer_access_mode=mode, **fields), BaseCommand.ERROR)
    return int(answer.error)


def test_an_exclusive_producer_gets_an_epoch_and_keeps_others_out(raw: RawClient, other: RawClient, topic: str) -> None:
    created = create(raw, topic, EXCLUSIVE)
    assert (created.producer_ready, created.topic_epoch) == (True, 0)
    assert refused(other, topic, EXCLUSIVE) == pb.ProducerFenced
    assert refused(other, topic, pb.Shared) == pb.ProducerBusy


def test_a_waiting_producer_is_told_to_wait_and_later_that_it_is_ready(
    raw: RawClient, other: RawClient, topic: str
) -> None:
    create(raw, topic, EXCLUSIVE)
    waiting = create(other, topic, WAIT, request_id=7, producer_name="w")
    assert (waiting.request_id, waiting.producer_ready, waiting.producer_name) == (7, False, "w")
    raw.send(close_producer())
    raw.expect(BaseCommand.SUCCESS)
    ready = other.expect(SUCCESS)
    assert (ready.request_id, ready.producer_ready, ready.topic_epoch) == (7, True, 1)
    other.send(send(0, name="w"))
    other.expect(BaseCommand.SEND_RECEIPT)


def test_a_send_by_a_waiting_producer_closes_the_connection(raw: RawClient, other: RawClient, topic: str) -> None:
    create(raw, topic, EXCLUSIVE)
    create(other, topic, WAIT)
    other.send(send(0))
    assert other.is_closed()


@pytest.mark.parametrize("how", ["disconnected", "closed"])
def test_the_next_producer_replaces_one_that_stopped_waiting(
    pulsar_broker: EmbeddedBroker, raw: RawClient, other: RawClient, topic: str, how: str
) -> None:
    create(raw, topic, EXCLUSIVE)
    with RawClient(pulsar_broker.service_url) as first:
        create(first, topic, WAIT)
        create(other, topic, WAIT)
        if how == "closed":
            first.send(close_producer())
            answers = {type(first.expect_any()).__name__ for _ in range(2)}
            assert answers == {"CommandSuccess", "CommandError"}
    admission = loaded(pulsar_broker, topic).admission
    wait_until(lambda: admission.waiting == 1, 5)
    raw.close()
    assert other.expect(SUCCESS).producer_ready


def test_an_owner_that_leaves_before_its_epoch_is_stored_hands_over(topic: str) -> None:
    """A producer that leaves while its epoch is being stored must not keep the topic."""
    disk = FaultyDisk()
    with EmbeddedBroker(disk=disk) as broker, RawClient(broker.service_url) as last:
        admission = loaded(broker, topic, create=True).admission
        with RawClient(broker.service_url) as first:
            disk.sync_seconds = SLOW
            first.send(frame(producer(topic, producer_name="p", producer_access_mode=EXCLUSIVE)))
            wait_until(lambda: admission.epoch == 0, 5)
            assert not create(last, topic, WAIT, producer_name="q").producer_ready
        assert last.expect(SUCCESS).producer_ready
        disk.sync_seconds = 0.0


def test_fencing_closes_producers_and_fails_waiting_ones(
    pulsar_broker: EmbeddedBroker, raw: RawClient, other: RawClient, topic: str
) -> None:
    create(raw, topic, EXCLUSIVE)
    create(other, topic, WAIT)
    with RawClient(pulsar_broker.service_url) as fencing:
        assert create(fencing, topic, FENCING).topic_epoch == 1
        assert raw.expect(BaseCommand.CLOSE_PRODUCER).producer_id == 1
        assert other.expect(BaseCommand.ERROR).error == pb.ProducerFenced
        raw.send(send(0))  # sent before the close arrived: dropped without closing the connection
        assert refused(raw, topic, EXCLUSIVE, topic_epoch=0) == pb.ProducerFenced


def test_the_epoch_survives_a_restart(topic: str, pulsar_broker: EmbeddedBroker, raw: RawClient) -> None:
    create(raw, topic, EXCLUSIVE)
    raw.send(close_producer())
    raw.expect(BaseCommand.SUCCESS)
    pulsar_broker.call(pulsar_broker.broker.topics.unload(parse_topic(topic)))
    assert create(raw, topic, EXCLUSIVE).topic_epoch == 1
    raw.send(close_producer())
    raw.expect(BaseCommand.SUCCESS)
    assert refused(raw, topic, EXCLUSIVE, topic_epoch=0) == pb.ProducerFenced


def test_a_waiting_producer_is_told_to_retry_when_the_topic_is_unloaded(
    pulsar_broker: EmbeddedBroker, raw: RawClient, other: RawClient, topic: str
) -> None:
    create(raw, topic, EXCLUSIVE)
    create(other, topic, WAIT)
    pulsar_broker.call(pulsar_broker.broker.topics.unload(parse_topic(topic)))
    assert other.expect(BaseCommand.ERROR).error == pb.ServiceNotReady


def test_a_topic_is_free_again_when_an_epoch_cannot_be_stored(topic: str) -> None:
    disk = FaultyDisk()
    with EmbeddedBroker(disk=disk) as broker, RawClient(broker.service_url) as client:
        create(client, topic)
        client.send(close_producer())
        client.expect(BaseCommand.SUCCESS)
        disk.failures["sync", ".journal"] = 5
        assert refused(client, topic, EXCLUSIVE) == pb.PersistenceError
        disk.failures.clear()
        assert create(client, topic, EXCLUSIVE).topic_epoch == 0


def test_an_owner_returns_after_a_fencing_whose_epoch_could_not_be_stored(topic: str) -> None:
    disk = FaultyDisk()
    with (
        EmbeddedBroker(disk=disk) as broker,
        RawClient(broker.service_url) as owner,
        RawClient(broker.service_url) as fencing,
    ):
        epoch = create(owner, topic, EXCLUSIVE).topic_epoch
        disk.failures["sync", ".journal"] = errno.EIO
        assert refused(fencing, topic, FENCING) == pb.PersistenceError
        disk.failures.clear()
        owner.expect(BaseCommand.CLOSE_PRODUCER)
        assert create(owner, topic, EXCLUSIVE, request_id=2, topic_epoch=epoch).topic_epoch == epoch


def test_a_name_in_use_on_the_same_connection_is_refused(raw: RawClient, topic: str) -> None:
    create(raw, topic, producer_name="p")
    assert refused(raw, topic, producer_id=2, producer_name="p") == pb.ProducerBusy


def test_a_repeated_producer_request_keeps_the_producer(
    pulsar_broker: EmbeddedBroker, raw: RawClient, topic: str
) -> None:
    name = create(raw, topic).producer_name
    assert create(raw, topic, request_id=2, epoch=1, producer_name="other").producer_name == name
    raw.send(send(0))
    raw.expect(BaseCommand.SEND_RECEIPT)
    assert list(loaded(pulsar_broker, topic).producers) == [name]


def test_the_initial_subscription_exists_before_the_first_message(
    pulsar_broker: EmbeddedBroker, raw: RawClient, topic: str
) -> None:
    create(raw, topic, initial_subscription_name="dlq")
    raw.send(send(0))
    raw.expect(BaseCommand.SEND_RECEIPT)
    assert loaded(pulsar_broker, topic).subscriptions["dlq"].cursor.backlog_entries == 1


@pytest.mark.parametrize("name", ["__compaction", "pulsar.dedup", "pulsar.repl.east"])
def test_a_cursor_of_the_broker_itself_is_no_initial_subscription(
    pulsar_broker: EmbeddedBroker, raw: RawClient, topic: str, name: str
) -> None:
    assert refused(raw, topic, initial_subscription_name=name) == pb.NotAllowedError
    assert name not in loaded(pulsar_broker, topic).subscriptions


def test_an_initial_subscription_needs_automatic_creation(topic: str) -> None:
    config = BrokerConfig(server=FREE_PORTS, topics=TopicConfig(allow_auto_subscription=False))
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as client:
        assert refused(client, topic, initial_subscription_name="dlq") == pb.NotAllowedError
        assert not loaded(broker, topic).producers


def test_generated_names_are_unique_and_start_with_the_brokers_name(raw: RawClient, topic: str) -> None:
    first = create(raw, topic, user_provided_producer_name=False).producer_name
    second = create(raw, topic, producer_id=2, user_provided_producer_name=False).producer_name
    assert first != second
    assert first.startswith("standalone-")


def test_a_frozen_owner_loses_the_topic_to_a_producer_with_its_name(topic: str) -> None:
    config = BrokerConfig(server=FREE_PORTS, connection=ConnectionConfig(liveness_timeout_ms=100))
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as frozen:
        create(frozen, topic, EXCLUSIVE, producer_name="p")
        with RawClient(broker.service_url) as client:
            assert create(client, topic, EXCLUSIVE, producer_name="p", epoch=1, topic_epoch=0).topic_epoch == 0


async def terminate(broker: Broker, topic: str) -> None:
    await managed_ledger(await broker.topics.get(parse_topic(topic))).terminate()


def test_a_terminated_topic_refuses_messages_and_producers(
    pulsar_broker: EmbeddedBroker, raw: RawClient, topic: str
) -> None:
    create(raw, topic)
    pulsar_broker.call(terminate(pulsar_broker.broker, topic))
    raw.send(send(0))
    assert raw.expect(BaseCommand.SEND_ERROR).error == pb.TopicTerminatedError
    assert refused(raw, topic, producer_id=2) == pb.TopicTerminatedError
