"""Clients leave a migrated cluster or namespace for the one that its record names (PIP-188)."""

import contextlib
import itertools
import urllib.error
from collections.abc import Callable, Iterator

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandSubscribe, CommandTopicMigrated, ServerError
from tests.clients.conftest import TIMEOUT_MS
from tests.support.clusters import admin
from tests.support.condition import wait_until
from tests.support.loaded_topics import loaded
from tests.support.official_client import connect
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import receive, subscribe

pytestmark = pytest.mark.feature("migration")

EARLIEST = pulsar.InitialPosition.Earliest
NAMES = itertools.count()


@pytest.fixture
def blue() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture
def green(pulsar_broker: EmbeddedBroker) -> EmbeddedBroker:
    return pulsar_broker


@pytest.fixture
def namespace(blue: EmbeddedBroker, green: EmbeddedBroker) -> str:
    """In both clusters."""
    name = f"public/leaving-{next(NAMES)}"
    for each in (blue, green):
        admin(each.http_url, "PUT", f"namespaces/{name}")
    return name


@pytest.fixture
def topic(namespace: str) -> str:
    return f"persistent://{namespace}/t"


def migrate_cluster(blue: EmbeddedBroker, to: str) -> None:
    admin(blue.http_url, "POST", "clusters/standalone/migrate?migrated=true", {"brokerServiceUrl": to})


def test_a_producer_goes_at_once_and_a_consumer_when_it_has_no_backlog(
    blue: EmbeddedBroker, green: EmbeddedBroker, topic: str
) -> None:
    client, there = connect(blue.service_url), connect(green.service_url)
    there.subscribe(topic, "s", initial_position=EARLIEST).close()
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    producer.send(b"blue")
    migrate_cluster(blue, green.service_url)
    producer.send(b"green")
    last = consumer.receive(TIMEOUT_MS)
    assert last.data() == b"blue"
    consumer.acknowledge(last)
    assert consumer.receive(TIMEOUT_MS).data() == b"green"
    client.close()
    there.close()


def test_new_clients_of_a_migrated_namespace_are_redirected_also_for_new_topics(
    blue: EmbeddedBroker, green: EmbeddedBroker, namespace: str, topic: str
) -> None:
    admin(blue.http_url, "POST", "clusters/standalone/migrate", {"brokerServiceUrl": green.service_url})
    admin(blue.http_url, "POST", f"namespaces/{namespace}/migration", True)
    client, there = connect(blue.service_url), connect(green.service_url)
    consumer = there.subscribe(topic, "s", initial_position=EARLIEST)
    client.create_producer(topic).send(b"x")
    client.create_producer("persistent://public/default/stays").send(b"y")
    assert consumer.receive(TIMEOUT_MS).data() == b"x"
    assert admin(blue.http_url, "GET", f"persistent/{namespace}") == []
    assert admin(blue.http_url, "GET", "persistent/public/default") == ["persistent://public/default/stays"]
    client.close()
    there.close()


def test_a_cluster_that_is_no_longer_migrated_serves_its_clients_again(
    blue: EmbeddedBroker, green: EmbeddedBroker, topic: str
) -> None:
    client = connect(blue.service_url)
    client.create_producer(topic).send(b"before")
    migrate_cluster(blue, green.service_url)
    admin(blue.http_url, "POST", "clusters/standalone/migrate?migrated=false", {})
    client.create_producer(topic).send(b"after")
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    assert [reader.read_next(TIMEOUT_MS).data() for _ in range(2)] == [b"before", b"after"]
    client.close()


def test_non_persistent_topics_go_with_the_others(blue: EmbeddedBroker, green: EmbeddedBroker, topic: str) -> None:
    topic = f"non-{topic}"
    client = connect(blue.service_url)
    consumer, producer = client.subscribe(topic, "s"), client.create_producer(topic)
    migrate_cluster(blue, green.service_url)
    path = topic.replace("://", "/")

    def followed() -> bool:
        stats = admin(green.http_url, "GET", f"{path}/stats")
        return bool(stats["publishers"] and stats["subscriptions"]["s"]["consumers"])

    client_of_green = connect(green.service_url)
    client_of_green.create_producer(topic).close()
    wait_until(followed, 30)
    producer.send(b"x")
    assert consumer.receive(TIMEOUT_MS).data() == b"x"
    client.close()
    client_of_green.close()


@contextlib.contextmanager
def connected(blue: EmbeddedBroker, protocol_version: int) -> Iterator[RawClient]:
    raw = RawClient(blue.service_url, handshake=False)
    with raw.socket:
        raw.send(client_commands.connect("raw", protocol_version=protocol_version))
        raw.expect(BaseCommand.CONNECTED)
        yield raw


def test_a_producer_gets_the_address_and_a_close_instead_of_an_answer(
    blue: EmbeddedBroker, green: EmbeddedBroker, topic: str
) -> None:
    migrate_cluster(blue, green.service_url)
    with connected(blue, 20) as raw:
        raw.send(client_commands.producer(1, topic, 7, "p"))
        moved = raw.expect(BaseCommand.TOPIC_MIGRATED)
        assert (moved.resource_id, moved.resource_type) == (7, CommandTopicMigrated.Producer)
        assert (moved.brokerServiceUrl, moved.HasField("brokerServiceUrlTls")) == (green.service_url, False)
        assert raw.expect(BaseCommand.CLOSE_PRODUCER).producer_id == 7


def test_a_client_that_is_too_old_learns_the_address_from_the_error(
    blue: EmbeddedBroker, namespace: str, topic: str
) -> None:
    migrate_cluster(blue, "pulsar://green:6650")
    with connected(blue, 19) as raw:
        raw.send(client_commands.producer(1, topic, 1, "p"))
        refused = raw.expect(BaseCommand.ERROR)
    assert refused.error == ServerError.TopicTerminatedError
    assert refused.message == f"Namespace {namespace} was moved to pulsar://green:6650: connect to that address"


def test_a_reader_that_knows_a_position_stays(blue: EmbeddedBroker, green: EmbeddedBroker, topic: str) -> None:
    client = connect(blue.service_url)
    first = client.create_producer(topic).send(b"x")
    migrate_cluster(blue, green.service_url)
    reader = client.create_reader(topic, first, start_message_id_inclusive=True)
    assert reader.read_next(TIMEOUT_MS).data() == b"x"
    client.close()


def phase(broker: EmbeddedBroker, topic: str, name: str, to: str = "pulsar://green:6650") -> None:
    path = topic.replace("://", "/")
    admin(broker.http_url, "POST", f"{path}/migration", {"phase": name, "brokerServiceUrl": to})


def delivered(broker: EmbeddedBroker, topic: str) -> int:
    """The entries that were sent to the only consumer."""
    [consumer] = loaded(broker, topic).subscriptions["s"].consumers
    return consumer.delivered_entries


def test_a_held_topic_waits_for_what_its_consumers_have(blue: EmbeddedBroker, topic: str) -> None:
    client = connect(blue.service_url)
    path = f"{topic.replace('://', '/')}/migration"
    consumer = client.subscribe(topic, "s", receiver_queue_size=1)
    producer = client.create_producer(topic, batching_enabled=False)
    for number in range(3):
        producer.send(b"%d" % number)
    received = consumer.receive(TIMEOUT_MS)
    wait_until(lambda: delivered(blue, topic) == 2, 10)  # that one, and the one that takes its place in the queue
    phase(blue, topic, "held")
    assert admin(blue.http_url, "GET", path) == {"phase": "held", "waitsFor": ["s"], "maySkip": ["s"]}
    consumer.acknowledge(received)
    consumer.acknowledge(consumer.receive(TIMEOUT_MS))
    wait_until(lambda: admin(blue.http_url, "GET", path)["waitsFor"] == [], 30)
    with pytest.raises(pulsar.Timeout):
        consumer.receive(100)
    phase(blue, topic, "in-use")
    assert consumer.receive(TIMEOUT_MS).data() == b"2"
    client.close()


def test_no_acknowledgment_is_answered_with_success_once_the_positions_are_copied(
    blue: EmbeddedBroker, topic: str
) -> None:
    client = connect(blue.service_url)
    client.create_producer(topic).send(b"x")
    with RawClient(blue.service_url) as raw:
        subscribe(raw, topic, initial_position=CommandSubscribe.Earliest)
        (message,) = receive(raw)
        phase(blue, topic, "frozen")
        raw.send(client_commands.acknowledge(1, [message.message_id], request_id=5))
        assert raw.expect(BaseCommand.ACK_RESPONSE).error == ServerError.ServiceNotReady
    path = f"{topic.replace('://', '/')}/subscription/s"
    with pytest.raises(urllib.error.HTTPError) as refused:
        admin(blue.http_url, "POST", f"{path}/skip_all")
    refused.value.close()
    client.close()


def test_a_frozen_topic_that_returns_takes_acknowledgments_again(blue: EmbeddedBroker, topic: str) -> None:
    client = connect(blue.service_url)
    client.create_producer(topic).send(b"x")
    with RawClient(blue.service_url) as raw:
        subscribe(raw, topic, initial_position=CommandSubscribe.Earliest)
        (message,) = receive(raw)
        phase(blue, topic, "frozen")
        phase(blue, topic, "in-use")
        raw.send(client_commands.acknowledge(1, [message.message_id], request_id=5))
        assert not raw.expect(BaseCommand.ACK_RESPONSE).HasField("error")
    client.close()


def test_a_producer_waits_while_its_topic_is_stopped_and_then_follows_it(
    blue: EmbeddedBroker, green: EmbeddedBroker, topic: str
) -> None:
    client, there = connect(blue.service_url), connect(green.service_url)
    consumer = there.subscribe(topic, "s", initial_position=EARLIEST)
    producer = client.create_producer(topic, batching_enabled=False)
    producer.send(b"stays in blue")
    phase(blue, topic, "stopped")
    for number in range(100):
        producer.send_async(b"%d" % number, None)
    phase(blue, topic, "moved", green.service_url)
    producer.flush()
    assert [consumer.receive(TIMEOUT_MS).data() for _ in range(100)] == [b"%d" % number for number in range(100)]
    client.close()
    there.close()


def test_the_phase_of_a_topic_survives_a_restart(blue: EmbeddedBroker, topic: str) -> None:
    with connected(blue, 20) as raw:
        raw.send(client_commands.subscribe(1, topic, "s", 1, initial_position=CommandSubscribe.Earliest))
        raw.expect(BaseCommand.SUCCESS)
        phase(blue, topic, "moved")
        assert raw.expect(BaseCommand.TOPIC_MIGRATED).brokerServiceUrl == "pulsar://green:6650"
        raw.expect(BaseCommand.CLOSE_CONSUMER)
        admin(blue.http_url, "PUT", f"{topic.replace('://', '/')}/unload")
        raw.send(client_commands.subscribe(2, topic, "s", 2))
        moved = raw.expect(BaseCommand.TOPIC_MIGRATED)
        assert (moved.resource_id, moved.resource_type) == (2, CommandTopicMigrated.Consumer)


@pytest.mark.parametrize(
    ("name", "kind", "acknowledge", "may_skip"),
    [
        ("idle", pulsar.ConsumerType.Exclusive, None, True),  # it may have acknowledged before it connected again
        ("single", pulsar.ConsumerType.Exclusive, pulsar.Consumer.acknowledge, False),
        ("cumulative", pulsar.ConsumerType.Failover, pulsar.Consumer.acknowledge_cumulative, True),
        ("shared", pulsar.ConsumerType.Shared, None, False),
    ],
)
def test_a_topic_names_the_subscriptions_whose_clients_may_skip_smaller_ids(
    pulsar_broker: EmbeddedBroker,
    topic: str,
    name: str,
    kind: pulsar.ConsumerType,
    acknowledge: Callable[[pulsar.Consumer, pulsar.Message], None] | None,
    may_skip: bool,
) -> None:
    client = connect(pulsar_broker.service_url)
    consumer = client.subscribe(topic, name, consumer_type=kind)
    client.create_producer(topic).send(b"x")
    message = consumer.receive(TIMEOUT_MS)
    if acknowledge is not None:
        acknowledge(consumer, message)
    path = f"{topic.replace('://', '/')}/migration"
    expected = [name] if may_skip else []
    wait_until(lambda: admin(pulsar_broker.http_url, "GET", path)["maySkip"] == expected, 10)
    client.close()


@pytest.mark.parametrize("above", [-1, 1 << 54, "x", None])
def test_an_id_that_no_ledger_has_is_refused(pulsar_broker: EmbeddedBroker, topic: str, above: object) -> None:
    path = topic.replace("://", "/")
    admin(pulsar_broker.http_url, "PUT", path)
    with pytest.raises(urllib.error.HTTPError) as refused:
        admin(pulsar_broker.http_url, "POST", f"{path}/migration/ledger", {"above": above})
    assert refused.value.code == 400
    refused.value.close()
