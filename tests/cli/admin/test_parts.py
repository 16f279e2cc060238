"""The topics of a namespace that jobs read, and their parts."""

from collections.abc import Iterator

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import ScalableConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from pulsarctl.admin.client import AdminClient
from pulsarctl.admin.parts import parts_in
from pulsarctl.settings.settings import Settings
from tests.support.scalable_topic import ScalableTopic


@pytest.fixture
def admin(pulsar_broker: EmbeddedBroker) -> Iterator[AdminClient]:
    client = AdminClient(Settings(web_url=pulsar_broker.http_url))
    yield client
    client.close()


@pytest.fixture
def namespace(admin: AdminClient, request: pytest.FixtureRequest) -> str:
    """A new one for each test."""
    name = f"public/{request.node.name}"
    admin.namespaces.create(name)
    return name


def names(admin: AdminClient, namespace: str, domain: str = "") -> dict[str, list[str]]:
    """Fails if anything is left out."""
    topics = parts_in(admin, namespace, pytest.fail, domain)
    return {topic: [part.topic for part in parts] for topic, parts in topics.items()}


def test_a_namespace_has_partitions_segments_and_topics_without_either(
    pulsar_broker: EmbeddedBroker, admin: AdminClient, namespace: str
) -> None:
    admin.topics.create_partitioned(f"{namespace}/orders", 2)
    admin.topics.create(f"{namespace}/returns")
    ScalableTopic.create(pulsar_broker, "clicks", namespace=namespace).split(0)
    assert names(admin, namespace) == {
        f"persistent://{namespace}/orders": [f"persistent://{namespace}/orders-partition-{index}" for index in (0, 1)],
        f"persistent://{namespace}/returns": [f"persistent://{namespace}/returns"],
        f"topic://{namespace}/clicks": [
            f"segment://{namespace}/clicks/{segment}" for segment in ("0000-ffff-0", "0000-7fff-1", "8000-ffff-2")
        ],
    }


def test_topics_of_one_domain_are_chosen(pulsar_broker: EmbeddedBroker, admin: AdminClient, namespace: str) -> None:
    admin.topics.create(f"{namespace}/returns")
    ScalableTopic.create(pulsar_broker, "clicks", namespace=namespace)
    for domain, topic in (("persistent", "returns"), ("topic", "clicks")):
        assert list(names(admin, namespace, domain)) == [f"{domain}://{namespace}/{topic}"]


def test_the_partitions_of_a_topic_that_became_scalable_are_parts_of_that_only(
    admin: AdminClient, namespace: str
) -> None:
    admin.topics.create_partitioned(f"{namespace}/payments", 2)
    admin.http.post(f"/admin/v2/scalable/{namespace}/payments/migrate")
    assert names(admin, namespace) == {
        f"topic://{namespace}/payments": [
            f"persistent://{namespace}/payments-partition-0",
            f"persistent://{namespace}/payments-partition-1",
            f"segment://{namespace}/payments/0000-7fff-2",
            f"segment://{namespace}/payments/8000-ffff-3",
        ]
    }


def test_a_broker_without_scalable_topics_has_the_regular_ones() -> None:
    config = BrokerConfig(server=FREE_PORTS, scalable=ScalableConfig(enabled=False))
    with EmbeddedBroker(config=config) as broker:
        client = AdminClient(Settings(web_url=broker.http_url))
        client.topics.create("orders")
        assert list(names(client, "public/default")) == ["persistent://public/default/orders"]
        client.close()
