"""What happens to the messages of a sealed segment: delays, TTL, backlog quotas, and offload go on there."""

import time
from pathlib import Path

from broker_core.config.broker import BrokerConfig
from broker_core.names import parse_topic
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.topic.topic import Topic
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.scalable.commands import next_assignment, register
from tests.broker.scalable.requests import Requests
from tests.support.condition import wait_until
from tests.support.managed_ledgers import managed_ledger
from tests.support.offloaded_topic import in_directory
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import entry_ids, receive, subscribe
from tests.support.raw_publishing import producer, publish, send

X = "topic://public/default/x"
PATH = "scalable/public/default/x"
FIRST = "segment://public/default/x/0000-ffff-0"
CHILD = "segment://public/default/x/0000-7fff-1"
NAMESPACE = "namespaces/public/default"


def fill(broker: EmbeddedBroker, *frames: bytes) -> None:
    """Publishes to the first segment, and seals it by a split. Its subscription is `q`."""
    admin = Requests(broker)
    admin("PUT", PATH)
    admin("PUT", f"{PATH}/subscriptions/q?type=QUEUE")
    with RawClient(broker.service_url) as client:
        client.ask(producer(FIRST), BaseCommand.PRODUCER_SUCCESS)
        for one in frames:
            client.send(one)
            client.expect(BaseCommand.SEND_RECEIPT)
        broker.call(managed_ledger(first(broker)).roll())  # a seal does not end the last ledger
        assert admin("POST", f"{PATH}/split/0").status == 204


def first(broker: EmbeddedBroker) -> Topic:
    return broker.call(broker.broker.topics.get(parse_topic(FIRST)))


def backlog(broker: EmbeddedBroker) -> int:
    return first(broker).subscriptions["q"].cursor.backlog_entries


def subscribe_to(client: RawClient, topic: str) -> None:
    subscribe(client, topic, name="q", sub_type=pb.CommandSubscribe.Shared)


def test_a_delayed_message_comes_on_time_also_after_a_restart(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as broker:
        due_ms = int(time.time() * 1000) + 4000
        fill(broker, send(0, metadata={"deliver_at_time": due_ms}), send(1))
        with RawClient(broker.service_url) as client:
            subscribe_to(client, FIRST)
            assert entry_ids(receive(client)) == [1]
        broker.call(broker.broker.scalable.collection.collect_all())
    with EmbeddedBroker(tmp_path) as broker, RawClient(broker.service_url) as client:
        subscribe_to(client, FIRST)
        assert sorted(entry_ids(receive(client, 2))) == [0, 1]
        assert time.time() * 1000 >= due_ms - 1000, "a message may come one tick too early"


def test_a_sealed_segment_whose_messages_expire_hands_its_children_out(admin: Requests, client: RawClient) -> None:
    admin("PUT", PATH)
    register(client, X, "s", "a")
    subscribe(client, FIRST, name="s")
    client.ask(producer(FIRST), BaseCommand.PRODUCER_SUCCESS)
    client.send(send(0, metadata={"publish_time": int(time.time() * 1000)}))
    client.expect(BaseCommand.SEND_RECEIPT)
    receive(client)
    admin("POST", f"{PATH}/split/0")
    client.expect(BaseCommand.CLOSE_PRODUCER)
    assert next_assignment(client) == ["0000-ffff-0"], "the message is not acknowledged"
    assert admin("POST", f"{NAMESPACE}/messageTTL", 1).status == 204
    assert next_assignment(client) == ["0000-7fff-1", "8000-ffff-2"]


def test_a_quota_drops_the_oldest_messages_of_a_sealed_segment(admin: Requests, broker: EmbeddedBroker) -> None:
    fill(broker, *(send(number, b"x" * 1000) for number in range(10)))
    quota = {"limitSize": 5000, "policy": "consumer_backlog_eviction"}
    assert admin("POST", f"{NAMESPACE}/backlogQuota?backlogQuotaType=destination_storage", quota).status == 204
    wait_until(lambda: 0 < backlog(broker) <= 5, 10)


def test_the_backlog_of_a_sealed_segment_stops_no_producer_of_its_children(
    admin: Requests, client: RawClient, broker: EmbeddedBroker
) -> None:
    fill(broker, *(send(number, b"x" * 1000) for number in range(10)))
    quota = {"limitSize": 5000, "policy": "producer_exception"}
    assert admin("POST", f"{NAMESPACE}/backlogQuota?backlogQuotaType=destination_storage", quota).status == 204
    client.ask(producer(CHILD), BaseCommand.PRODUCER_SUCCESS)
    publish(client, 1)
    assert backlog(broker) == 10


def test_a_sealed_segment_is_offloaded_and_read_from_the_store(tmp_path: Path) -> None:
    store = tmp_path / "store"
    config = BrokerConfig(server=FREE_PORTS, offload=in_directory(store, threshold_bytes=0))
    with EmbeddedBroker(tmp_path / "data", config=config) as broker:
        fill(broker, *(send(number, b"%d" % number) for number in range(10)))
        wait_until(lambda: first(broker).offloading.offloaded_bytes > 0, 30)
        copies = managed_ledger(first(broker)).copies
        broker.call(copies.drop_files([info.id for info in copies.sealed()]))
        with RawClient(broker.service_url) as client:
            subscribe_to(client, FIRST)
            assert entry_ids(receive(client, 10)) == list(range(10))


def test_a_seek_finds_what_was_published_while_the_segment_was_being_sealed(
    admin: Requests, broker: EmbeddedBroker
) -> None:
    now_ms = int(time.time() * 1000)  # before the seal, whose time is that of the decision to seal
    fill(broker, send(0, metadata={"publish_time": now_ms}), send(1, metadata={"publish_time": now_ms + 600_000}))
    assert admin("POST", f"{PATH}/subscriptions/q/skip-all").status == 204
    assert admin("POST", f"{PATH}/subscriptions/q/seek?timestamp={now_ms + 300_000}").status == 204
    assert backlog(broker) == 1
    assert admin("POST", f"{PATH}/subscriptions/q/seek?timestamp={now_ms + 900_000}").status == 204
    assert backlog(broker) == 0
