"""TTL and retention act when due, as seen by an official client and in the files on disk."""

from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest

from broker_core.metadata.policies.values import RetentionPolicy
from broker_core.names import NamespaceName, parse_topic
from broker_core.testing import EmbeddedBroker
from tests.clients.conftest import TIMEOUT_MS
from tests.clients.publishing import publish
from tests.support.condition import wait_until
from tests.support.loaded_topics import loaded

pytestmark = pytest.mark.feature("expiry")

DEFAULT = NamespaceName("public", "default")


@pytest.fixture(autouse=True)
def no_policies(pulsar_broker: EmbeddedBroker) -> Iterator[None]:
    yield
    set_policies(pulsar_broker, ttl_seconds=None, retention=None)


def set_policies(broker: EmbeddedBroker, **policies: object) -> None:
    broker.call(broker.broker.tenancy.set_namespace_policies(DEFAULT, **policies))


def test_messages_expire_within_a_second_of_their_ttl(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    client.subscribe(topic, "s").close()
    set_policies(pulsar_broker, ttl_seconds=1)
    publish(client, topic, *range(100))
    cursor = loaded(pulsar_broker, topic).subscriptions["s"].cursor
    assert cursor.backlog_messages == 100
    assert wait_until(lambda: cursor.backlog_messages == 0, 3) > 0.5


def test_a_shorter_ttl_takes_effect_at_once(client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    client.subscribe(topic, "s").close()
    set_policies(pulsar_broker, ttl_seconds=3600)
    publish(client, topic, *range(10))
    cursor = loaded(pulsar_broker, topic).subscriptions["s"].cursor
    set_policies(pulsar_broker, ttl_seconds=1)
    wait_until(lambda: cursor.backlog_messages == 0, 3)


def test_messages_acknowledged_by_all_subscriptions_are_deleted(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    set_policies(pulsar_broker, retention=RetentionPolicy(0, 0))
    consumer = client.subscribe(topic, "s")
    publish(client, topic, *range(100))
    ledger = loaded(pulsar_broker, topic).ledger
    assert ledger.size > 0
    for _ in range(100):
        consumer.acknowledge(consumer.receive(timeout_millis=TIMEOUT_MS))
    wait_until(lambda: ledger.size == 0, 3)


def test_without_a_retention_policy_acknowledged_messages_stay_for_a_grace_period(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    consumer = client.subscribe(topic, "s")
    publish(client, topic, *range(10))
    for _ in range(10):
        consumer.acknowledge(consumer.receive(timeout_millis=TIMEOUT_MS))
    policies = loaded(pulsar_broker, topic).policies
    assert policies.retention.limits.open_grace_ms == 60_000
    consumer.seek(pulsar.MessageId.earliest)
    assert consumer.receive(timeout_millis=TIMEOUT_MS).data() == b"0"


def test_messages_without_a_subscription_stay(client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    publish(client, topic, *range(100))
    consumer = client.subscribe(topic, "s", initial_position=pulsar.InitialPosition.Earliest)
    for _ in range(100):
        consumer.receive(timeout_millis=TIMEOUT_MS)
    assert loaded(pulsar_broker, topic).ledger.messages == 100


def test_retention_keeps_acknowledged_messages(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    set_policies(pulsar_broker, retention=RetentionPolicy(-1, -1))
    consumer = client.subscribe(topic, "s")
    publish(client, topic, *range(10))
    for _ in range(10):
        consumer.acknowledge(consumer.receive(timeout_millis=TIMEOUT_MS))
    consumer.close()
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    found = [reader.read_next(timeout_millis=TIMEOUT_MS).data() for _ in range(10)]
    assert found == [str(index).encode() for index in range(10)]


def test_the_end_of_retention_frees_the_disk_at_once(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    set_policies(pulsar_broker, retention=RetentionPolicy(-1, -1))
    consumer = client.subscribe(topic, "s")
    publish(client, topic, *range(10))
    for _ in range(10):
        consumer.acknowledge(consumer.receive(timeout_millis=TIMEOUT_MS))
    consumer.close()
    ledger = loaded(pulsar_broker, topic).ledger
    set_policies(pulsar_broker, retention=RetentionPolicy(0, 0))
    wait_until(lambda: ledger.size == 0, 2)


def test_messages_expire_after_a_restart_without_use_of_their_topic(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as broker:
        set_policies(broker, ttl_seconds=1)
        client = pulsar.Client(broker.service_url)
        client.subscribe("t", "s").close()
        publish(client, "t", 10)
        client.close()
    with EmbeddedBroker(tmp_path) as broker:
        name = str(parse_topic("t"))
        wait_until(lambda: name in broker.broker.topics.loaded, 3)
        cursor = broker.broker.topics.loaded[name].subscriptions["s"].cursor
        wait_until(lambda: cursor.backlog_messages == 0, 3)
