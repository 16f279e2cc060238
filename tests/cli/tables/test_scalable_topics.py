"""Scalable topics as tables and streams: segments take the place of partitions."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from broker_core.testing import EmbeddedBroker
from pulsarctl.errors import NotFound
from pulsarctl.tables.data_loss import DataLoss
from pulsarctl.tables.following import Following, Offset
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.stream_options import StreamOptions, table_options
from pulsarctl.tables.subscription_follower import SubscriptionFollower
from pulsarctl.tables.topic_table import TopicTable
from tests.cli.tables.topics import table
from tests.support.runner import Cli
from tests.support.scalable_topic import ScalableTopic


@pytest.fixture
def orders(pulsar_broker: EmbeddedBroker, request: pytest.FixtureRequest) -> ScalableTopic:
    created = ScalableTopic.create(pulsar_broker, request.node.name)
    created.subscribe("keeps")
    return created


def following(topic: ScalableTopic, **options: str) -> Following:
    where = {"service_url": topic.broker.service_url, "admin_url": topic.broker.http_url, "topic": topic.name}
    given = where | {"start": "earliest"} | options
    return Following(table_options(given), StreamOptions.parse(given))


def segment_ids(stream: Following, start: Offset, end: Offset) -> Sequence[int]:
    return [int(part.topic.rpartition("-")[2]) for part in stream.between(start, end)]


def test_parents_are_read_before_their_children(orders: ScalableTopic) -> None:
    orders.publish(0, ["a", "b"])
    orders.split(0)
    orders.publish(2, ["b"])
    orders.publish(1, ["a"])
    opened = table(orders.broker, orders.name)
    found: list[Any] = [
        (row["partition"], row["key"])
        for part in opened.plan()
        for batch in opened.read(part)
        for row in batch.select(["partition", "key"]).to_pylist()
    ]
    assert found == [(0, "a"), (0, "b"), (1, "a"), (2, "b")]


def test_a_segment_can_be_read_alone(orders: ScalableTopic) -> None:
    orders.split(0)
    orders.publish(1, ["a"])
    orders.publish(2, ["b"])
    assert [part.topic for part in table(orders.broker, orders.segments()[2]).plan()] == [orders.segments()[2]]
    with pytest.raises(NotFound, match="has no segment"):
        table(orders.broker, f"{orders.segments()[2]}0").plan()


def test_a_namespace_or_a_pattern_has_scalable_topics(orders: ScalableTopic) -> None:
    orders.publish(0, ["a"])
    orders.split(0)
    orders.publish(2, ["b"])
    path, segments = orders.name.partition("://")[2], orders.segments()
    read = {segments[0], segments[2]}
    for option, target, expected in (
        ("topics_pattern", path, read),
        ("topics_pattern", f"topic://{path}", read),
        ("topics_pattern", f"persistent://{path}", set()),
    ):
        assert planned(orders, option, target) == expected, target
    assert read <= planned(orders, "namespace", "public/default")


def planned(topic: ScalableTopic, option: str, target: str) -> set[str]:
    """The parts that a table of several topics reads."""
    where = {"service_url": topic.broker.service_url, "admin_url": topic.broker.http_url, option: target}
    return {part.topic for part in TopicTable(TableOptions.parse(where)).plan()}


def test_sql_reads_scalable_topics_and_verify_checks_them(orders: ScalableTopic, cli: Cli) -> None:
    orders.publish(0, ["a", "b"])
    orders.split(0)
    orders.publish(1, ["a"])
    query = f'SELECT partition, count(*) AS n FROM "{orders.name}" GROUP BY 1 ORDER BY 1'
    done = cli("-o", "json", "ops", "sql", query)
    assert json.loads(done.stdout) == [{"partition": 0, "n": 2}, {"partition": 1, "n": 1}], done.stderr
    assert json.loads(cli("-o", "json", "ops", "verify", orders.name).stdout)["messages"] == 3


def test_backlog_counts_all_segments_of_a_subscription(orders: ScalableTopic, cli: Cli) -> None:
    orders.publish(0, ["a", "b"])
    orders.split(0)
    orders.publish(1, ["a"])
    report = json.loads(cli("-o", "json", "ops", "backlog", orders.name, "--details").stdout)
    (backlog,) = report["subscriptions"]
    assert (backlog["topic"], backlog["subscription"], backlog["messages"]) == (orders.name, "keeps", 3)
    assert {part["topic"] for part in backlog["partitions"]} == set(orders.segments().values())


def test_a_stream_continues_with_the_children_of_a_split(orders: ScalableTopic) -> None:
    orders.publish(0, ["a"])
    stream = following(orders)
    start = stream.first()
    end = stream.next_step(start, limited=False)
    assert segment_ids(stream, start, end) == [0]
    orders.split(0)
    orders.publish(2, ["b"])
    stream = following(orders)
    children = stream.next_step(end, limited=False)
    assert segment_ids(stream, end, children) == [2]
    assert {at.partition(" ")[2] for name, at in children.items() if name.endswith("-0")} == {"ended"}
    assert stream.next_step(children, limited=False) == children


@pytest.mark.parametrize("limit", ["max_messages_per_trigger", "max_bytes_per_trigger"])
def test_a_stream_with_a_limit_notices_the_end_of_a_segment(orders: ScalableTopic, limit: str) -> None:
    orders.publish(0, ["a"])
    stream = following(orders)
    end = stream.next_step(stream.first(), limited=False)
    orders.split(0)
    after = following(orders, **{limit: "1"}).next_step(end, limited=True)
    assert sorted(at.partition(" ")[2] for at in after.values()) == ["", "", "ended"]


def test_a_stream_forgets_a_segment_that_it_has_read_to_its_end(orders: ScalableTopic) -> None:
    orders.publish(0, ["a"])
    orders.split(0)
    stream = following(orders)
    end = stream.next_step(stream.first(), limited=False)
    orders.skip_all("keeps")
    orders.collect()
    orders.publish(1, ["a"])
    stream = following(orders)
    after = stream.next_step(end, limited=False)
    assert segment_ids(stream, end, after) == [1]
    assert sorted(after) == sorted(orders.segments().values())


def test_a_stream_fails_if_a_segment_went_unread(orders: ScalableTopic) -> None:
    orders.publish(0, ["a"])
    stream = following(orders)
    end = stream.next_step(stream.first(), limited=False)
    orders.split(0)
    orders.skip_all("keeps")
    orders.collect()
    stream = following(orders)
    with pytest.raises(DataLoss, match="0000-ffff-0 is gone"):
        stream.between(end, stream.next_step(end, limited=False))


def test_the_subscription_of_a_stream_keeps_segments_until_they_are_read(orders: ScalableTopic) -> None:
    orders.publish(0, ["a"])
    stream = following(orders, subscription="stream")
    follower = SubscriptionFollower(table_options(_given(orders)).access, "stream")
    start = stream.first()
    follower.follow(stream.kept(start))
    end = stream.next_step(start, limited=False)
    orders.split(0)
    orders.skip_all("keeps")
    orders.collect()
    assert 0 in orders.segments()
    follower.follow(stream.kept(end))
    orders.collect()
    assert 0 not in orders.segments()


def _given(topic: ScalableTopic) -> dict[str, str]:
    return {"service_url": topic.broker.service_url, "admin_url": topic.broker.http_url, "topic": topic.name}
