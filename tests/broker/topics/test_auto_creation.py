"""Automatic creation of topics by configuration and namespace policies, as clients see it."""

from collections.abc import Iterator

import pytest

from broker_core.broker import Broker
from broker_core.config.broker import BrokerConfig
from broker_core.config.topic import TopicConfig
from broker_core.metadata.policies.values import AutoSubscriptionCreation, AutoTopicCreation
from broker_core.names import NamespaceName, parse_topic
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import (
    BaseCommand,
    CommandError,
    CommandPartitionedTopicMetadataResponse,
    ServerError,
)
from tests.support.condition import wait_until
from tests.support.held_disk import HeldDisk
from tests.support.raw_client import RawClient

PREFIX = "persistent://public/default/"
THREE_PARTITIONS = TopicConfig(auto_creation_type="partitioned", default_partitions=3)
NAMESPACE = NamespaceName("public", "default")


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


def set_policies(broker: EmbeddedBroker, **policies: object) -> None:
    broker.call(broker.broker.tenancy.set_namespace_policies(NAMESPACE, **policies))


def partitions(raw: RawClient, topic: str, *, auto_creation: bool = True) -> CommandPartitionedTopicMetadataResponse:
    raw.send(client_commands.partitioned_metadata(1, topic, auto_creation=auto_creation))
    answer = raw.expect(BaseCommand.PARTITIONED_METADATA_RESPONSE)
    assert isinstance(answer, CommandPartitionedTopicMetadataResponse)
    return answer


def producer_command(topic: str) -> BaseCommand:
    command = BaseCommand(type=BaseCommand.PRODUCER)
    command.producer.topic, command.producer.producer_id, command.producer.request_id = topic, 1, 2
    return command


def produce(raw: RawClient, topic: str) -> None:
    raw.ask(producer_command(topic), BaseCommand.PRODUCER_SUCCESS)


def refused(raw: RawClient, topic: str) -> int:
    error = raw.ask(producer_command(topic), BaseCommand.ERROR)
    assert isinstance(error, CommandError)
    return error.error


def exists(broker: Broker, topic: str) -> bool:
    return broker.topics.exists(parse_topic(topic))


def test_a_namespace_may_forbid_what_the_configuration_allows(broker: EmbeddedBroker, raw: RawClient) -> None:
    set_policies(broker, auto_topic_creation=AutoTopicCreation(allowed=False))
    assert refused(raw, f"{PREFIX}t") == ServerError.TopicNotFound
    assert partitions(raw, f"{PREFIX}t").error == ServerError.TopicNotFound
    assert not exists(broker.broker, f"{PREFIX}t")


def test_a_namespace_may_allow_what_the_configuration_forbids() -> None:
    config = BrokerConfig(server=FREE_PORTS, topics=TopicConfig(allow_auto_creation=False))
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as raw:
        assert refused(raw, f"{PREFIX}t") == ServerError.TopicNotFound
        set_policies(broker, auto_topic_creation=AutoTopicCreation(allowed=True, kind="non-partitioned"))
        produce(raw, f"{PREFIX}t")


def test_a_namespace_says_how_many_partitions_a_topic_gets(broker: EmbeddedBroker, raw: RawClient) -> None:
    creation = AutoTopicCreation(allowed=True, kind="partitioned", partitions=3)
    set_policies(broker, auto_topic_creation=creation)
    assert partitions(raw, f"{PREFIX}t", auto_creation=False).error == ServerError.TopicNotFound
    assert partitions(raw, f"{PREFIX}t").partitions == 3
    produce(raw, f"{PREFIX}t-partition-2")


def test_a_partitioned_topic_whose_client_leaves_is_created_all_the_same() -> None:
    disk, config = HeldDisk(), BrokerConfig(server=FREE_PORTS, topics=THREE_PARTITIONS)
    with EmbeddedBroker(config=config, disk=disk) as broker:
        disk.go.clear()
        with RawClient(broker.service_url) as raw:
            raw.send(client_commands.partitioned_metadata(1, f"{PREFIX}t"))
            raw.send(client_commands.lookup(2, f"{PREFIX}t"))  # its answer shows that the creation has begun
            raw.expect(BaseCommand.LOOKUP_RESPONSE)
        wait_until(lambda: not broker.broker.connections, 10)
        disk.go.set()
        name = parse_topic(f"{PREFIX}t")
        wait_until(lambda: broker.broker.tenancy.partitioned.count(name) == 3, 10)


def test_more_partitions_than_a_topic_may_have_are_not_created() -> None:
    topics = TopicConfig(auto_creation_type="partitioned", default_partitions=4, max_partitions=2)
    config = BrokerConfig(server=FREE_PORTS, topics=topics)
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as raw:
        assert partitions(raw, f"{PREFIX}t").error == ServerError.NotAllowedError


def test_a_namespace_may_forbid_subscribing_to_create(broker: EmbeddedBroker, raw: RawClient) -> None:
    produce(raw, f"{PREFIX}t")
    set_policies(broker, auto_subscription_creation=AutoSubscriptionCreation(allowed=False))
    raw.send(client_commands.subscribe(3, f"{PREFIX}t", "s", 1))
    assert raw.expect(BaseCommand.ERROR).error == ServerError.SubscriptionNotFound


def test_a_partition_beyond_the_last_one_is_not_found(broker: EmbeddedBroker, raw: RawClient) -> None:
    broker.create_partitioned_topic(f"{PREFIX}p", 2)
    assert refused(raw, f"{PREFIX}p-partition-2") == ServerError.TopicNotFound
    assert partitions(raw, f"{PREFIX}p-partition-2").error == ServerError.TopicNotFound


def test_the_bare_name_of_a_partitioned_topic_is_not_created(broker: EmbeddedBroker, raw: RawClient) -> None:
    broker.create_partitioned_topic(f"{PREFIX}p", 2)
    assert refused(raw, f"{PREFIX}p") == ServerError.NotAllowedError
    assert not exists(broker.broker, f"{PREFIX}p")


@pytest.mark.parametrize(
    "topic", ["pulsar/system/transaction_coordinator_assign", "public/default/t-s__transaction_pending_ack"]
)
def test_clients_cannot_create_transaction_log_topics(raw: RawClient, topic: str) -> None:
    assert refused(raw, f"persistent://{topic}") == ServerError.NotAllowedError


def test_event_topics_are_always_created_by_use() -> None:
    topics = TopicConfig(allow_auto_creation=False, auto_creation_type="partitioned")
    config = BrokerConfig(server=FREE_PORTS, topics=topics)
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as raw:
        assert partitions(raw, f"{PREFIX}__change_events").partitions == 0
        produce(raw, f"{PREFIX}__change_events")


def test_a_short_name_with_a_cluster_is_invalid_on_every_command(raw: RawClient) -> None:
    topic = "public/standalone/default/t"
    assert refused(raw, topic) == ServerError.InvalidTopicName
    assert partitions(raw, topic).error == ServerError.InvalidTopicName
    raw.send(client_commands.subscribe(3, topic, "s", 1))
    assert raw.expect(BaseCommand.ERROR).error == ServerError.InvalidTopicName
    raw.send(client_commands.lookup(4, topic))
    assert raw.expect(BaseCommand.LOOKUP_RESPONSE).error == ServerError.InvalidTopicName


def test_the_topics_of_a_namespace_with_a_cluster_are_listed(raw: RawClient) -> None:
    produce(raw, "persistent://public/standalone/default/t")
    command = BaseCommand(type=BaseCommand.GET_TOPICS_OF_NAMESPACE)
    command.getTopicsOfNamespace.request_id, command.getTopicsOfNamespace.namespace = 5, "public/standalone/default"
    raw.send(frame(command))
    listed = raw.expect(BaseCommand.GET_TOPICS_OF_NAMESPACE_RESPONSE).topics
    assert list(listed) == ["persistent://public/standalone/default/t"]
