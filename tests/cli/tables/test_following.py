"""Steps of a stream: how far each goes, and that a step has the same messages whenever it is read."""

from typing import Any

import pulsar
import pytest

pytest.importorskip("pyarrow")

from broker_core.testing import EmbeddedBroker
from pulsarctl.tables.data_loss import DataLoss
from pulsarctl.tables.following import Following, Offset
from pulsarctl.tables.stream_options import StreamOptions, table_options
from pulsarctl.tables.subscription_follower import SubscriptionFollower
from tests.cli.tables.topics import table

LATER_LEDGER = 1_000_000


def publish(client: pulsar.Client, topic: str, count: int, **options: Any) -> None:
    client.subscribe(topic, "keeper").close()
    producer = client.create_producer(topic, **options)
    for number in range(count):
        producer.send_async(b"%06d" % number, None)
    producer.flush()
    producer.close()


def following(broker: EmbeddedBroker, topic: str, **options: str) -> Following:
    where = {"service_url": broker.service_url, "admin_url": broker.http_url, "topic": topic}
    given = where | {"start": "earliest"} | options
    return Following(table_options(given), StreamOptions.parse(given))


def entries(stream: Following, start: Offset, end: Offset) -> int:
    return sum(part.entries for part in stream.between(start, end))


def test_a_new_stream_starts_at_the_end(pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, 3, batching_enabled=False)
    given = {"service_url": pulsar_broker.service_url, "admin_url": pulsar_broker.http_url, "topic": topic}
    stream = Following(table_options(given), StreamOptions.parse(given))
    start = stream.first()
    assert stream.next_step(start, limited=True) == start


def test_a_stream_starts_at_a_position_and_includes_it(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    publish(client, topic, 5, batching_enabled=False)
    (part,) = table(pulsar_broker, topic, tasks_min="1").plan()
    stream = following(pulsar_broker, topic, start=f"{part.ledger_id}:3")
    start = stream.first()
    assert entries(stream, start, stream.next_step(start, limited=False)) == 2


def test_the_limit_is_shared_by_backlog(pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    pulsar_broker.create_partitioned_topic(topic, 2)
    publish(client, f"{topic}-partition-0", 30, batching_enabled=False)
    publish(client, f"{topic}-partition-1", 10, batching_enabled=False)
    stream = following(pulsar_broker, topic, max_messages_per_trigger="20")
    start = stream.first()
    end = stream.next_step(start, limited=True)
    shares = {part.topic[-1]: part.entries for part in stream.between(start, end)}
    assert shares == {"0": 15, "1": 5}


def test_batches_count_as_their_messages(pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, 100, batching_enabled=True, batching_max_messages=10, batching_max_publish_delay_ms=10_000)
    stream = following(pulsar_broker, topic, max_messages_per_trigger="30")
    start = stream.first()
    assert entries(stream, start, stream.next_step(start, limited=True)) == 3


def test_bytes_are_limited(pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, 100, batching_enabled=False)
    size = sum(part.size for part in table(pulsar_broker, topic).plan())
    stream = following(pulsar_broker, topic, max_bytes_per_trigger=str(size // 2))
    start = stream.first()
    assert entries(stream, start, stream.next_step(start, limited=True)) in (49, 50)


def test_a_step_waits_for_enough_messages(pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, 5, batching_enabled=False)
    stream = following(pulsar_broker, topic, min_messages_per_trigger="6")
    start = stream.first()
    assert stream.next_step(start, limited=True) == start


def test_a_step_does_not_wait_longer_than_the_delay(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    publish(client, topic, 5, batching_enabled=False)
    stream = following(pulsar_broker, topic, min_messages_per_trigger="6", max_trigger_delay="1ms")
    start = stream.first()
    assert entries(stream, start, stream.next_step(start, limited=True)) == 5


def test_a_step_has_the_same_parts_after_larger_messages_were_published(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pulsarctl.tables.ledger_ranges.TASK_BYTES_MAX", 1000)
    publish(client, topic, 20, batching_enabled=False)
    stream = following(pulsar_broker, topic)
    start = stream.first()
    end = stream.next_step(start, limited=False)
    publish(client, topic, 20, batching_enabled=False, producer_name="p" * 1000)
    restarted = following(pulsar_broker, topic)
    assert restarted.between(start, end) == stream.between(start, end)


@pytest.mark.parametrize("fails", [True, False])
def test_a_topic_whose_positions_start_over_is_data_loss(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, fails: bool
) -> None:
    publish(client, topic, 5, batching_enabled=False)
    stream = following(pulsar_broker, topic, fail_on_data_loss=str(fails).lower())
    start = {topic: f"{LATER_LEDGER}:7"}  # of another cluster, or before a restore
    end = stream.next_step(start, limited=False)
    assert stream.kept(start) == {}
    if fails:
        with pytest.raises(DataLoss, match="created again or restored"):
            stream.between(start, end)
    else:
        assert entries(stream, start, end) == 5


def test_a_step_that_ends_after_the_end_of_the_topic_is_data_loss(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    publish(client, topic, 5, batching_enabled=False)
    stream = following(pulsar_broker, topic)
    ledger_id = stream.latest()[topic].partition(":")[0]
    with pytest.raises(DataLoss, match=f"entry {ledger_id}:9 of {topic} is gone"):
        stream.between({topic: f"{ledger_id}:1"}, {topic: f"{ledger_id}:9"})


def test_a_deleted_topic_is_data_loss(pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, 5, batching_enabled=False)
    stream = following(pulsar_broker, topic)
    start = {f"{topic}-gone": "1:1"}
    with pytest.raises(DataLoss, match="is gone"):
        stream.between(start, {f"{topic}-gone": "1:5"})


def publish_only(client: pulsar.Client, topic: str, count: int) -> None:
    """Without a subscription that keeps the messages."""
    producer = client.create_producer(topic, batching_enabled=False)
    for number in range(count):
        producer.send(b"%06d" % number)
    producer.close()


def delete_what_is_read(broker: EmbeddedBroker, client: pulsar.Client, topic: str, *, acknowledged: bool) -> Offset:
    """A step of 5 messages, the only ones of their ledger, which the broker then deletes; 3 more are published."""
    client.subscribe(topic, "query", pulsar.ConsumerType.Failover).close()
    publish_only(client, topic, 5)
    stream = following(broker, topic, subscription="query")
    end = stream.next_step(stream.first(), limited=False)
    access = table_options({"service_url": broker.service_url, "admin_url": broker.http_url, "topic": topic}).access
    admin = access.admin()
    if acknowledged:
        SubscriptionFollower(access, "query").follow(end)
        admin.topics.unload(topic)
        admin.topics.trim(topic)
    else:
        admin.topics.delete_subscription(topic, "query")
        admin.topics.truncate(topic)
    publish_only(client, topic, 3)
    ledgers = [str(each["ledgerId"]) for each in admin.topics.internal_stats(topic)["ledgers"]]
    assert end[topic].partition(":")[0] not in ledgers
    admin.close()
    return end


def test_a_deleted_ledger_that_the_subscription_has_finished_is_no_data_loss(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    start = delete_what_is_read(pulsar_broker, client, topic, acknowledged=True)
    stream = following(pulsar_broker, topic, subscription="query")
    assert stream.kept(start) == start
    assert entries(stream, start, stream.next_step(start, limited=False)) == 3


def test_a_deleted_ledger_is_data_loss_without_the_subscription(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    start = delete_what_is_read(pulsar_broker, client, topic, acknowledged=False)
    stream = following(pulsar_broker, topic, subscription="query")
    end = stream.next_step(start, limited=False)
    assert stream.kept(start) == {}
    with pytest.raises(DataLoss, match="may have had entries after"):
        stream.between(start, end)
