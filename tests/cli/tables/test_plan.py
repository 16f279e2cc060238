"""Which topics, and how much of them, a plan reads."""

import pulsar
import pytest

pytest.importorskip("pyarrow")

from broker_core.testing import EmbeddedBroker
from pulsarctl.errors import UsageProblem
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.topic_table import TopicTable
from tests.cli.tables.topics import rows, table


def publish(client: pulsar.Client, topic: str, *values: bytes) -> None:
    client.subscribe(topic, "keeper").close()
    producer = client.create_producer(topic, batching_enabled=False)
    for value in values:
        producer.send(value)
    producer.close()


def matching(broker: EmbeddedBroker, pattern: str) -> TopicTable:
    where = {"service_url": broker.service_url, "admin_url": broker.http_url, "topics_pattern": pattern}
    return TopicTable(TableOptions.parse(where))


@pytest.mark.parametrize("prefix", ["persistent://public/default/", "public/default/", ""])
def test_a_pattern_matches_whole_names(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, prefix: str
) -> None:
    name = topic.rpartition("/")[2].partition("[")[0]
    for suffix in ("a", "b", "bc"):
        publish(client, f"persistent://public/default/{name}-{suffix}", suffix.encode())
    found = rows(matching(pulsar_broker, f"{prefix}{name}-[ab]"))
    assert {row["value"] for row in found} == {b"a", b"b"}


def test_a_pattern_matches_partitioned_topics_without_their_index(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 2)
    publish(client, f"{topic}-partition-1", b"x")
    assert [row["partition"] for row in rows(matching(pulsar_broker, topic.partition("://")[2]))] == [1]


def test_a_pattern_names_its_namespace(pulsar_broker: EmbeddedBroker) -> None:
    with pytest.raises(UsageProblem, match="does not name one namespace"):
        matching(pulsar_broker, "persistent://.*/orders").plan()


def test_a_topic_that_is_named_twice_is_read_once(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 2)
    publish(client, f"{topic}-partition-1", b"x")
    assert len(rows(table(pulsar_broker, topic, topics=f"{topic.rpartition('/')[2]},{topic}-partition-1"))) == 1


def test_a_bound_by_time_leaves_out_what_is_far_from_it(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    publish(client, topic, b"a", b"b", b"c")
    first = rows(table(pulsar_broker, topic))[0]["publish_time"]
    assert sum(part.entries for part in table(pulsar_broker, topic, end="@2020-01-01T00:00:00Z").plan()) <= 1
    assert len(rows(table(pulsar_broker, topic, start=f"@{int(first.timestamp() * 1000)}"))) == 3


def test_each_partition_starts_at_its_own_bound(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 2)
    for index in range(2):
        publish(client, f"{topic}-partition-{index}", b"first", b"second")
    found = rows(table(pulsar_broker, topic))
    (place,) = [row["message_id"] for row in found if row["partition"] == 1 and row["value"] == b"second"]
    start = f'{{"1": "{place.rpartition(":")[0]}"}}'
    left = [(row["partition"], row["value"]) for row in rows(table(pulsar_broker, topic, start=start))]
    assert left == [(0, b"first"), (0, b"second"), (1, b"second")]
