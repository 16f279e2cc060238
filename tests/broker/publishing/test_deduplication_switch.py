"""Deduplication is turned on and off while producers are connected, and a change that fails is tried again."""

import errno
from pathlib import Path

from broker_core.broker import Broker
from broker_core.publishing.deduplication_snapshot import CURSOR
from broker_core.publishing.deduplication_switch import DeduplicationStatus
from broker_core.testing import EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.publishing.deduplicated_topic import NAME, TOPIC, config, create, publish_and_leave, receipts
from tests.support.condition import wait_until
from tests.support.faulty_disk import FaultyDisk
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, send


async def set_policy(broker: Broker, **fields: bool) -> None:
    await broker.tenancy.topic_policies.set(NAME, **fields)


def test_the_policy_of_a_topic_changes_under_connected_producers(pulsar_broker: EmbeddedBroker) -> None:
    with RawClient(pulsar_broker.service_url) as client:
        create(client)
        switch = loaded(pulsar_broker, NAME).deduplication_switch
        pulsar_broker.call(set_policy(pulsar_broker.broker, deduplication_enabled=True))
        wait_until(lambda: switch.status is DeduplicationStatus.ENABLED, 5)
        client.send(send(0) + send(0))
        assert receipts(client, 2) == [(0, True), (0, False)]
        pulsar_broker.call(set_policy(pulsar_broker.broker, deduplication_enabled=False))
        wait_until(lambda: switch.status is DeduplicationStatus.DISABLED, 5)
        assert CURSOR not in loaded(pulsar_broker, NAME).ledger.cursors
        client.send(send(0) + send(0))
        assert receipts(client, 2) == [(0, True), (0, True)]


def test_a_policy_that_cannot_be_applied_is_tried_again() -> None:
    disk = FaultyDisk()
    with EmbeddedBroker(disk=disk) as broker:
        topic = loaded(broker, NAME, create=True)
        switch = topic.deduplication_switch
        for enabled, status in ((True, DeduplicationStatus.FAILED), (False, DeduplicationStatus.REMOVING)):
            disk.failures["sync", ".journal"] = errno.EIO
            broker.call(set_policy(broker.broker, deduplication_enabled=enabled))
            wait_until(lambda wanted=status: switch.status is wanted, 30)  # type: ignore[misc]  # a default
            assert enabled or CURSOR in topic.ledger.cursors
            disk.failures.clear()
            wait_until(lambda: switch.status.value in ("Enabled", "Disabled"), 30)
            assert topic.deduplication.enabled is enabled
            assert (CURSOR in topic.ledger.cursors) is enabled


def test_producers_wait_while_deduplication_cannot_be_switched_on() -> None:
    disk = FaultyDisk()
    with EmbeddedBroker(disk=disk) as broker, RawClient(broker.service_url) as client:
        create(client)
        disk.failures["sync", ".journal"] = errno.EIO
        broker.call(set_policy(broker.broker, deduplication_enabled=True))
        client.expect(BaseCommand.CLOSE_PRODUCER)
        refused = client.ask(producer(TOPIC, producer_name="p", request_id=2), BaseCommand.ERROR)
        assert "cannot turn on its deduplication" in refused.message
        disk.failures.clear()
        wait_until(lambda: loaded(broker, NAME).deduplication_switch.status is DeduplicationStatus.ENABLED, 30)
        create(client)
        client.send(send(0) + send(0))
        assert receipts(client, 2) == [(0, True), (0, False)]


def test_a_topic_follows_its_namespace_until_it_has_its_own_policy(pulsar_broker: EmbeddedBroker) -> None:
    tenancy = pulsar_broker.broker.tenancy
    with RawClient(pulsar_broker.service_url) as client:
        create(client)
        switch = loaded(pulsar_broker, NAME).deduplication_switch
        pulsar_broker.call(tenancy.topic_policies.set(NAME, deduplication_enabled=None))
        pulsar_broker.call(tenancy.set_namespace_policies(NAME.namespace, deduplication_enabled=True))
        wait_until(lambda: switch.status is DeduplicationStatus.ENABLED, 5)
        pulsar_broker.call(tenancy.topic_policies.set(NAME, deduplication_enabled=False))
        wait_until(lambda: switch.status is DeduplicationStatus.DISABLED, 5)
        pulsar_broker.call(tenancy.set_namespace_policies(NAME.namespace, deduplication_enabled=None))


def test_a_start_without_deduplication_deletes_its_cursor(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path, config=config()) as broker, RawClient(broker.service_url) as client:
        publish_and_leave(client, "p")
        assert CURSOR in loaded(broker, NAME).ledger.cursors
    with EmbeddedBroker(tmp_path) as broker:
        assert CURSOR not in loaded(broker, NAME).ledger.cursors
