"""The wall clock jumps by a day, forward and back, while messages flow."""

import contextlib
import threading
import urllib.error
import urllib.request

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import BacklogQuotaConfig
from broker_core.metadata.policies.values import EVICT, BacklogQuota, RetentionPolicy
from broker_core.names import NamespaceName, parse_topic
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from tests.clients.conftest import TIMEOUT_MS
from tests.support.clocks import ShiftedClock
from tests.support.condition import wait_until
from tests.support.managed_ledgers import managed_ledger

pytestmark = pytest.mark.feature("durability")

DAY_MS = 24 * 3600 * 1000
TOPIC = "jumps"


class Load(threading.Thread):
    """Publishes numbers until stopped; keeps their message IDs."""

    def __init__(self, client: pulsar.Client) -> None:
        super().__init__(daemon=True)
        self._producer = client.create_producer(TOPIC)
        self._done = threading.Event()
        self.ids: list[tuple[int, int]] = []

    def run(self) -> None:
        while not self._done.is_set():
            message_id = self._producer.send(str(len(self.ids)).encode())
            self.ids.append((message_id.ledger_id(), message_id.entry_id()))

    def stop(self) -> None:
        self._done.set()
        self.join(30)


def receive_until(consumer: pulsar.Consumer, number: int) -> list[int]:
    found: list[int] = []
    while not found or found[-1] < number:
        message = consumer.receive(timeout_millis=TIMEOUT_MS)
        consumer.acknowledge(message)
        found.append(int(message.data()))
    return found


@pytest.mark.parametrize("jump_ms", [DAY_MS, -DAY_MS], ids=["forwards", "back"])
def test_no_message_is_lost_and_nothing_stalls(jump_ms: int) -> None:
    clock = ShiftedClock()
    with EmbeddedBroker(clock=clock) as broker:
        client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
        consumer = client.subscribe(TOPIC, "s")
        load = Load(client)
        load.start()
        seen = receive_until(consumer, 100)
        clock.jump_ms = jump_ms
        seen += receive_until(consumer, len(load.ids) + 200)
        clock.jump_ms = 0
        seen += receive_until(consumer, len(load.ids) + 200)
        load.stop()
        if seen[-1] < len(load.ids) - 1:
            seen += receive_until(consumer, len(load.ids) - 1)
        client.close()
    assert seen == list(range(len(load.ids)))
    assert sorted(set(load.ids)) == load.ids


def test_nothing_expires_early_after_a_jump_back() -> None:
    clock = ShiftedClock()
    with EmbeddedBroker(clock=clock) as broker:
        namespace = NamespaceName("public", "default")
        broker.call(broker.broker.tenancy.set_namespace_policies(namespace, ttl_seconds=3600))
        client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
        client.subscribe(TOPIC, "s").close()
        client.create_producer(TOPIC).send(b"kept")
        topic = broker.call(broker.broker.topics.get(parse_topic(TOPIC)))
        cursor = topic.subscriptions["s"].cursor
        clock.jump_ms = -DAY_MS
        assert broker.call(topic.subscriptions["s"].expire_before(clock.wall_ms() - 3600_000)) == 0
        assert cursor.backlog_messages == 1
        clock.jump_ms, clock.slept_ms = 0, DAY_MS
        broker.call(broker.broker.tenancy.set_namespace_policies(namespace, ttl_seconds=3599))
        wait_until(lambda: cursor.backlog_messages == 0, 3)
        client.close()


def test_nothing_expires_early_after_a_jump_ahead() -> None:
    """TTL, retention, a quota by age, and a request to expire drop no message that is not old enough."""
    clock = ShiftedClock()
    config = BrokerConfig(server=FREE_PORTS, backlog_quota=BacklogQuotaConfig(precise_time=True))
    with EmbeddedBroker(clock=clock, config=config) as broker:
        tenancy, namespace = broker.broker.tenancy, NamespaceName("public", "default")
        policies = {
            "ttl_seconds": 3600,
            "retention": RetentionPolicy(60, -1),
            "age_quota": BacklogQuota(0, 3599, EVICT),
        }
        broker.call(tenancy.set_namespace_policies(namespace, **policies))
        client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
        client.subscribe(TOPIC, "s").close()
        producer = client.create_producer(TOPIC)
        producer.send(b"acknowledged")
        topic = broker.call(broker.broker.topics.get(parse_topic(TOPIC)))
        broker.call(topic.subscriptions["s"].skip(1))
        broker.call(managed_ledger(topic).roll())
        producer.send(b"kept")
        ledgers = [info.id for info in topic.ledger.ledger_infos()]
        clock.jump_ms = DAY_MS
        housekeeping(broker)
        assert topic.subscriptions["s"].cursor.backlog_messages == 1
        assert [info.id for info in topic.ledger.ledger_infos()] == ledgers
        clock.jump_ms, clock.slept_ms = 0, DAY_MS
        housekeeping(broker)
        assert topic.subscriptions["s"].cursor.backlog_messages == 0
        assert [info.id for info in topic.ledger.ledger_infos()] != ledgers
        client.close()


def housekeeping(broker: EmbeddedBroker) -> None:
    """Runs everything that drops messages by age: quotas, a REST request, and a trim with TTL and retention."""
    topic = broker.call(broker.broker.topics.get(parse_topic(TOPIC)))
    broker.call(topic.quotas.check())
    url = f"{broker.http_url}/admin/v2/persistent/public/default/{TOPIC}/subscription/s/expireMessages/3600"
    with contextlib.suppress(urllib.error.HTTPError):  # 409: there was nothing to expire
        urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=10).close()
    broker.call(topic.trim())
