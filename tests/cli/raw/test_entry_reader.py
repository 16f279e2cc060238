"""The raw entry reader with our broker, and with peers that misbehave."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ServerConfig
from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from pulsarctl.errors import CannotConnect, NotFound, TimedOut, UsageProblem
from pulsarctl.raw.entry_reader import EARLIEST, LATEST, Entry, EntryReader, MessageId, PublishedSince
from tests.cli.publishing import publish
from tests.support.connections import end_connections
from tests.support.official_client import connect
from tests.support.threaded_listener import ThreadedListener

TIMEOUT_SECONDS = 10.0
"""For what should come; what should not come is waited for only where an end says that it cannot."""


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return f"persistent://public/default/{request.node.name}"


def publish_batch(client: pulsar.Client, topic: str, *values: str) -> None:
    producer = client.create_producer(topic, batching_enabled=True, batching_max_publish_delay_ms=10_000)
    for value in values:
        producer.send_async(value.encode(), None)
    producer.flush()
    producer.close()


def values(entries: Iterator[Entry]) -> list[str]:
    return [(record.value or b"").decode() for entry in entries for record in entry.messages()]


def test_entries_are_read_in_order_to_the_end(pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, "a", "b")
    publish_batch(client, topic, "c", "d")
    with EntryReader(pulsar_broker.service_url, topic) as reader:
        assert values(reader.to_end()) == ["a", "b", "c", "d"]


def test_the_same_reader_continues_with_later_messages(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    publish(client, topic, "a")
    with EntryReader(pulsar_broker.service_url, topic) as reader:
        assert values(reader.to_end()) == ["a"]
        publish(client, topic, "b")
        entry = reader.read(TIMEOUT_SECONDS)
        assert entry is not None
        assert values(iter([entry])) == ["b"]


def test_more_messages_than_the_permits_all_arrive(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    producer = client.create_producer(topic, batching_enabled=False, block_if_queue_full=True)
    for number in range(2500):
        producer.send_async(str(number).encode(), None)
    producer.flush()
    with EntryReader(pulsar_broker.service_url, topic) as reader:
        assert values(reader.to_end()) == [str(number) for number in range(2500)]


def test_no_subscription_remains_on_the_broker(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    publish(client, topic, "a")
    with EntryReader(pulsar_broker.service_url, topic) as reader:
        assert len(pulsar_broker.broker.topics.loaded[topic].subscriptions) == 1
        list(reader.to_end())
    assert not pulsar_broker.broker.topics.loaded[topic].subscriptions


def test_an_empty_topic_has_no_last_message_and_ends_at_once(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    client.create_producer(topic).close()
    with EntryReader(pulsar_broker.service_url, topic) as reader:
        assert reader.last_ids() == {-1: None}
        assert list(reader.to_end()) == []


def test_a_start_is_inclusive_by_default(pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    second = publish(client, topic, "a", "b", "c")[1]
    start = MessageId(second.ledger_id(), second.entry_id())
    with EntryReader(pulsar_broker.service_url, topic, start=start) as reader:
        assert values(reader.to_end()) == ["b", "c"]
    with EntryReader(pulsar_broker.service_url, topic, start=start, inclusive=False) as reader:
        assert values(reader.to_end()) == ["c"]


def test_a_start_inside_a_batch_begins_with_that_message(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    publish_batch(client, topic, "a", "b", "c")
    with EntryReader(pulsar_broker.service_url, topic) as reader:
        (entry,) = reader.to_end()
    start = entry.id._replace(batch_index=1)
    with EntryReader(pulsar_broker.service_url, topic, start=start, inclusive=False) as reader:
        assert values(reader.to_end()) == ["c"]


def test_latest_shows_only_what_is_published_afterwards(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    publish(client, topic, "old")
    with EntryReader(pulsar_broker.service_url, topic, start=LATEST) as reader:
        assert list(reader.to_end()) == []
        publish(client, topic, "new")
        assert values(reader.to_end()) == ["new"]


def test_a_time_starts_at_the_first_message_published_since(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    publish(client, topic, "a", "b")
    with EntryReader(pulsar_broker.service_url, topic) as reader:
        times = [entry.metadata.publish_time for entry in reader.to_end()]
    with EntryReader(pulsar_broker.service_url, topic, start=PublishedSince(times[0])) as reader:
        assert values(reader.to_end()) == ["a", "b"]
    with EntryReader(pulsar_broker.service_url, topic, start=PublishedSince(times[1] + 1)) as reader:
        assert list(reader.to_end()) == []


def test_an_end_is_included_and_the_rest_is_not_read(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    second = publish(client, topic, "a", "b", "c")[1]
    with EntryReader(pulsar_broker.service_url, topic) as reader:
        assert values(reader.to({-1: MessageId(second.ledger_id(), second.entry_id())})) == ["a", "b"]


def test_an_end_that_no_longer_exists_is_reached(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    last = publish(client, topic, "a", "b")[1]
    with EntryReader(pulsar_broker.service_url, topic) as reader:
        assert values(reader.to({-1: MessageId(last.ledger_id(), last.entry_id() + 5)})) == ["a", "b"]


def test_all_partitions_are_read_and_each_entry_names_its_partition(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 3)
    for index in range(3):
        publish(client, f"{topic}-partition-{index}", f"in {index}")
    with EntryReader(pulsar_broker.service_url, topic) as reader:
        assert reader.partitions == [0, 1, 2]
        entries = list(reader.to_end())
    assert {(entry.partition, entry.value()) for entry in entries} == {(i, f"in {i}".encode()) for i in range(3)}


def test_one_partition_is_read_alone(pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    pulsar_broker.create_partitioned_topic(topic, 2)
    for index in range(2):
        publish(client, f"{topic}-partition-{index}", f"in {index}")
    with EntryReader(pulsar_broker.service_url, f"{topic}-partition-1") as reader:
        assert (reader.partitions, values(reader.to_end())) == ([1], ["in 1"])


def test_partitions_can_start_in_different_places(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 3)
    for index in range(3):
        publish(client, f"{topic}-partition-{index}", f"in {index}")
    with EntryReader(pulsar_broker.service_url, topic, start={0: EARLIEST, 1: LATEST}) as reader:
        assert (reader.partitions, values(reader.to_end())) == ([0, 1], ["in 0"])


def test_an_id_without_a_partition_is_refused_on_a_partitioned_topic(pulsar_broker: EmbeddedBroker, topic: str) -> None:
    pulsar_broker.create_partitioned_topic(topic, 2)
    with pytest.raises(UsageProblem, match="names no partition"):
        EntryReader(pulsar_broker.service_url, topic, start=MessageId(1, 0))


def test_reading_continues_after_an_unload(pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, "a")
    with EntryReader(pulsar_broker.service_url, topic) as reader:
        assert values(reader.to_end()) == ["a"]
        pulsar_broker.call(pulsar_broker.broker.topics.unload(parse_topic(topic)))
        publish(client, topic, "b")
        assert values(reader.to_end()) == ["b"]


def test_reading_continues_if_the_connection_ends_after_only_one_partition_was_unloaded(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 2)
    with EntryReader(pulsar_broker.service_url, topic) as reader:
        pulsar_broker.call(pulsar_broker.broker.topics.unload(parse_topic(f"{topic}-partition-0")))
        end_connections(pulsar_broker)
        for index in range(2):
            publish(client, f"{topic}-partition-{index}", f"in {index}")
        entries = [reader.read(TIMEOUT_SECONDS) for _ in range(2)]
    assert {entry and entry.value() for entry in entries} == {b"in 0", b"in 1"}


def test_reading_continues_after_the_last_entry_when_the_broker_returns(tmp_path: Path) -> None:
    topic = "persistent://public/default/restarted"
    config = BrokerConfig(server=ServerConfig(broker_port=_free_port(), web_port=0))
    with EmbeddedBroker(tmp_path, config=config) as broker:
        client = connect(broker.service_url)
        publish(client, topic, "a", "b")
        client.close()
        reader = EntryReader(broker.service_url, topic, start=LATEST)
    with EmbeddedBroker(tmp_path, config=config) as broker, reader:
        client = connect(broker.service_url)
        publish(client, topic, "c")
        client.close()
        entry = reader.read(TIMEOUT_SECONDS)
    assert entry is not None
    assert entry.value() == b"c"


def test_a_topic_that_does_not_exist_is_not_created(pulsar_broker: EmbeddedBroker, topic: str) -> None:
    with pytest.raises(NotFound, match="does not exist") as refused:
        EntryReader(pulsar_broker.service_url, topic)
    assert refused.value.hint == "check the name; 'pulsarctl topics list NAMESPACE' shows what exists"
    assert topic not in pulsar_broker.broker.topics.loaded


def test_a_missing_broker_is_reported_at_once() -> None:
    with pytest.raises(CannotConnect, match="cannot reach the broker"):
        EntryReader(f"pulsar://127.0.0.1:{_free_port()}", "t")


def test_the_second_of_two_addresses_is_tried(pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, "a")
    hosts = f"127.0.0.1:{_free_port()},{pulsar_broker.service_url.removeprefix('pulsar://')}"
    with EntryReader(f"pulsar://{hosts}", topic) as reader:
        assert values(reader.to_end()) == ["a"]


def test_an_http_url_leads_to_the_broker(pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, "a")
    pulsar_broker.create_partitioned_topic(f"{topic}-parted", 2)
    hosts = f"127.0.0.1:{_free_port()},{pulsar_broker.http_url.removeprefix('http://')}"
    with EntryReader(f"http://{hosts}", topic) as reader:
        assert values(reader.to_end()) == ["a"]
    with EntryReader(pulsar_broker.http_url, f"{topic}-parted") as reader:
        assert reader.partitions == [0, 1]
    with pytest.raises(NotFound):
        EntryReader(pulsar_broker.http_url, "persistent://public/nowhere/t")


@pytest.mark.parametrize("url", ["ftp://localhost:8080", "localhost", "pulsar://h:x"])
def test_an_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        EntryReader(url, "t")
    assert "pulsar://HOST:PORT" in str(caught.value.hint)


def test_a_port_of_another_protocol_is_recognized(pulsar_broker: EmbeddedBroker) -> None:
    url = pulsar_broker.http_url.replace("http://", "pulsar://")
    with pytest.raises(CannotConnect, match="a web server answered; is this the port of the binary protocol"):
        EntryReader(url, "t", timeout_seconds=TIMEOUT_SECONDS)


class MailServer(ThreadedListener):
    """Greets before the client says anything."""

    def accepted(self, connection: socket.socket) -> None:
        self.start(self._greet, connection)

    def _greet(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.sendall(b"220 mail.example.com ESMTP\r\n")
            connection.recv(65536)


def test_a_server_that_is_no_broker_is_recognized() -> None:
    with MailServer() as server, pytest.raises(CannotConnect, match="does not speak Pulsar's binary protocol"):
        EntryReader(server.url, "t", timeout_seconds=TIMEOUT_SECONDS)


def test_a_peer_that_never_answers_times_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        before = time.monotonic()
        with pytest.raises(TimedOut, match="did not answer CONNECT"):
            EntryReader(f"pulsar://127.0.0.1:{silent.getsockname()[1]}", "t", timeout_seconds=0.3)
        assert time.monotonic() - before < 5


def test_a_peer_that_disconnects_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as rude:
        hanging_up = threading.Thread(target=lambda: rude.accept()[0].close())
        hanging_up.start()
        with pytest.raises(CannotConnect):
            EntryReader(f"pulsar://127.0.0.1:{rude.getsockname()[1]}", "t", timeout_seconds=TIMEOUT_SECONDS)
        hanging_up.join()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
