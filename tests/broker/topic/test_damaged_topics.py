"""Topics that lost messages: which subscriptions wait or skip them, and where the loss is shown."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.policies import PolicyConfig
from broker_core.config.storage import StorageConfig
from broker_core.storage.managed_ledger.managed_ledger import ManagedLedger
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from tests.clients.receiving import consume, payloads
from tests.support.condition import wait_until
from tests.support.official_client import connect

TOPIC = "persistent://public/default/t"
STATS = "persistent/public/default/t/stats"
MESSAGES = 10
LOST = range(4, 6)
TYPES = [
    pulsar.ConsumerType.Exclusive,
    pulsar.ConsumerType.Failover,
    pulsar.ConsumerType.Shared,
    pulsar.ConsumerType.KeyShared,
]
PATIENCE_SECONDS = 30


def config(**storage: Any) -> BrokerConfig:
    kept = PolicyConfig(retention_minutes=-1, retention_mb=-1)  # losses are shown until their ledger is trimmed
    return BrokerConfig(server=FREE_PORTS, policies=kept, storage=replace(StorageConfig(), **storage))


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A topic with messages 0 to 9, two of them unreadable; `s` has acknowledged none."""
    with EmbeddedBroker(tmp_path, config=config()) as broker:
        client = connect(broker.service_url)
        client.subscribe(TOPIC, "s", pulsar.ConsumerType.Shared).close()
        producer = client.create_producer(TOPIC, batching_enabled=False)
        for number in range(MESSAGES):
            producer.send(message(number), partition_key=str(number))
        client.close()
    damage(tmp_path)
    return tmp_path


def message(number: int) -> bytes:
    return b"message number %d" % number


def damage(directory: Path) -> None:
    """Flips a bit of each of these messages."""
    [path] = [path for path in directory.rglob("*.ledger") if message(0) in path.read_bytes()]
    data = bytearray(path.read_bytes())
    for number in LOST:
        data[data.index(message(number))] ^= 1
    path.write_bytes(data)


@contextmanager
def consumer_of(broker: EmbeddedBroker, consumer_type: Any) -> Iterator[pulsar.Consumer]:
    client = connect(broker.service_url)
    yield client.subscribe(TOPIC, "s", consumer_type, negative_ack_redelivery_delay_ms=1)
    client.close()


def rest(broker: EmbeddedBroker, path: str, method: str = "GET") -> Any:
    with urlopen(Request(f"{broker.http_url}/admin/v2/{path}", method=method)) as reply:
        return json.load(reply)


def subscription(broker: EmbeddedBroker) -> Any:
    return rest(broker, STATS)["subscriptions"]["s"]


KEPT = [message(number) for number in range(MESSAGES) if number not in LOST]


@pytest.mark.parametrize("consumer_type", TYPES, ids=str)
def test_lost_messages_are_skipped_by_configuration(damaged: Path, consumer_type: Any) -> None:
    with EmbeddedBroker(damaged, config=config(auto_skip_lost=True)) as broker:
        with consumer_of(broker, consumer_type) as consumer:
            assert sorted(payloads(consume(consumer, len(KEPT)))) == KEPT
            wait_until(lambda: subscription(broker)["msgBacklog"] == 0, PATIENCE_SECONDS)
        assert rest(broker, STATS)["lostEntries"] == len(LOST)


@pytest.mark.parametrize("consumer_type", TYPES, ids=str)
def test_a_subscription_waits_at_lost_messages_until_the_loss_is_accepted(damaged: Path, consumer_type: Any) -> None:
    with EmbeddedBroker(damaged, config=config()) as broker, consumer_of(broker, consumer_type) as consumer:
        before = [message(number) for number in range(LOST[0])]
        assert sorted(payloads(consume(consumer, len(before)))) == before
        wait_until(lambda: "readFailure" in subscription(broker), PATIENCE_SECONDS)
        assert "record checksum does not match" in subscription(broker)["readFailure"]
        assert "pulsarctl_storage_damaged_places" in urlopen(f"{broker.http_url}/metrics").read().decode()
        assert len(rest(broker, "brokers/damage/accept", "POST")) == 1
        assert sorted(payloads(consume(consumer, len(KEPT) - len(before)))) == KEPT[len(before) :]
        wait_until(lambda: "readFailure" not in subscription(broker), PATIENCE_SECONDS)


def test_the_internal_stats_name_the_lost_entries(damaged: Path) -> None:
    with EmbeddedBroker(damaged, config=config()) as broker, consumer_of(broker, TYPES[0]):
        wait_until(lambda: "readFailure" in subscription(broker), PATIENCE_SECONDS)
        [ledger] = [one for one in rest(broker, STATS[:-5] + "internalStats")["ledgers"] if "lost" in one]
        assert ledger["lost"] == [f"{ledger['ledgerId']}:{LOST[0]} to {ledger['ledgerId']}:{LOST[-1]}"]


@pytest.mark.parametrize("skips", [False, True])
def test_a_redelivery_of_lost_messages_waits_or_skips_them(tmp_path: Path, skips: bool) -> None:
    with EmbeddedBroker(tmp_path, config=config(auto_skip_lost=skips)) as broker:
        client = connect(broker.service_url)
        consumer = client.subscribe(TOPIC, "s", pulsar.ConsumerType.Shared, negative_ack_redelivery_delay_ms=1)
        producer = client.create_producer(TOPIC, batching_enabled=False)
        for number in range(MESSAGES):
            producer.send(message(number))
        first = [consumer.receive(PATIENCE_SECONDS * 1000) for _ in range(MESSAGES)]
        evict(broker)
        damage(tmp_path)
        for one in first:
            consumer.negative_acknowledge(one)
        if skips:
            assert sorted(payloads(consume(consumer, len(KEPT)))) == KEPT
            wait_until(lambda: subscription(broker)["msgBacklog"] == 0, PATIENCE_SECONDS)
        else:
            assert payloads(consume(consumer, LOST[0])) == KEPT[: LOST[0]]
            wait_until(lambda: "readFailure" in subscription(broker), PATIENCE_SECONDS)
            wait_until(lambda: subscription(broker)["msgInReplay"] == MESSAGES - LOST[0], PATIENCE_SECONDS)
        client.close()


def evict(broker: EmbeddedBroker) -> None:
    """Waits until published messages are in their file and no longer in memory."""

    async def work() -> None:
        storage = broker.broker.storage
        await storage.checkpoint()
        for topic in broker.broker.topics.loaded.values():
            assert isinstance(topic.ledger, ManagedLedger)
            for ledger in topic.ledger._ledgers.values():
                storage.cache.forget(ledger)

    broker.call(work())


def test_a_request_for_a_lost_message_is_answered_with_the_reason(
    damaged: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with EmbeddedBroker(damaged, config=config()) as broker:
        [ledger] = rest(broker, STATS[:-5] + "internalStats")["ledgers"]
        with pytest.raises(HTTPError) as caught:
            rest(broker, f"{STATS[:-5]}ledger/{ledger['ledgerId']}/entry/{LOST[0]}")
        assert "record checksum does not match" in json.load(caught.value)["reason"]
    assert not [record for record in caplog.records if record.exc_info]
