"""Scalable topics: created, split, merged, and deleted while clients use them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from broker_core.errors import LimitReached
from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.scalable.commands import assigned, lookup, next_assignment, register, update
from tests.broker.scalable.requests import Requests
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import receive, subscribe
from tests.support.raw_publishing import producer, send

X = "topic://public/default/x"
PATH = "scalable/public/default/x"


def segments(admin: Requests) -> dict[str, str]:
    """The ranges and states of the segments by ID."""
    body = admin("GET", PATH).json
    return {
        key: f"{one['hashRange']['start']:04x}-{one['hashRange']['end']:04x} {one['state']}"
        for key, one in body["segments"].items()
    }


def segment(descriptor: str) -> str:
    return f"segment://public/default/x/{descriptor}"


def publish(client: RawClient, topic: str, sequence_id: int, producer_id: int = 1) -> Any:
    """Publishes one message through a new producer."""
    client.ask(producer(topic, producer_id), BaseCommand.PRODUCER_SUCCESS)
    client.send(send(sequence_id, producer_id=producer_id))
    return client.expect(BaseCommand.SEND_RECEIPT)


def test_a_topic_is_created_with_its_segments_and_properties(admin: Requests) -> None:
    assert admin("PUT", f"{PATH}?numInitialSegments=3", {"team": "lab"}).status == 204
    body = admin("GET", PATH).json
    assert (body["epoch"], body["nextSegmentId"], body["properties"]) == (0, 3, {"team": "lab"})
    assert segments(admin) == {"0": "0000-5554 ACTIVE", "1": "5555-aaa9 ACTIVE", "2": "aaaa-ffff ACTIVE"}
    assert body["segments"]["0"]["active"] and body["segments"]["0"]["root"] and body["segments"]["0"]["leaf"]


@pytest.mark.parametrize(
    ("method", "path", "status", "reason"),
    [
        ("PUT", PATH, 409, "already exists"),
        ("PUT", "scalable/public/none/x", 404, "Namespace not found"),
        ("PUT", "scalable/public/default/y?numInitialSegments=0", 412, "between 1 and 4096, not 0"),
        ("PUT", "scalable/public/default/y?numInitialSegments=many", 400, "must be a whole number"),
        ("GET", "scalable/public/default/none", 404, "Scalable topic not found"),
        ("GET", "scalable/public/default/none/stats", 404, "Scalable topic not found"),
        ("DELETE", "scalable/public/default/none", 404, "Scalable topic not found"),
        ("POST", f"{PATH}/split/9", 404, "Segment not found: 9"),
        ("POST", f"{PATH}/merge/0/0", 412, "not adjacent"),
        ("POST", f"{PATH}/rebucket/9?bucketCount=2", 404, "Segment not found: 9"),
        ("POST", f"{PATH}/rebucket/0?bucketCount=4", 412, "Segment 0 has 4 entry buckets already"),
        ("POST", f"{PATH}/rebucket/0?bucketCount=1025", 412, "between 1 and 1024 entry buckets, not 1025"),
        ("POST", f"{PATH}/rebucket/0", 400, "bucketCount must be a whole number"),
        ("GET", "scalable/public/default?property=team", 412, "KEY=VALUE"),
        ("PUT", f"{PATH}/subscriptions/s?type=OTHER", 404, "STREAM or QUEUE"),
    ],
)
def test_what_cannot_be_done_says_why(admin: Requests, method: str, path: str, status: int, reason: str) -> None:
    admin("PUT", PATH)
    answer = admin(method, path)
    assert (answer.status, reason in answer.reason) == (status, True), answer.reason


def test_lists_of_topics_show_neither_scalable_topics_nor_segments(admin: Requests, client: RawClient) -> None:
    admin("PUT", PATH, {"team": "lab"})
    for path in ("namespaces/public/default/topics?mode=ALL", "persistent/public/default"):
        assert admin("GET", path).json == []
    assert admin("GET", "scalable/public/default").json == [X]
    assert admin("GET", "scalable/public/default?property=team=lab").json == [X]
    assert admin("GET", "scalable/public/default?property=team=other").json == []


def test_a_split_reaches_everyone_who_uses_the_topic(admin: Requests, client: RawClient) -> None:
    admin("PUT", PATH)
    lookup(client, X)
    client.ask(producer(segment("0000-ffff-0")), BaseCommand.PRODUCER_SUCCESS)
    assert admin("POST", f"{PATH}/split/0").status == 204
    assert segments(admin) == {"0": "0000-ffff SEALED", "1": "0000-7fff ACTIVE", "2": "8000-ffff ACTIVE"}
    assert client.expect(BaseCommand.CLOSE_PRODUCER).producer_id == 1
    layout = update(client)
    assert [(one.segment_id, one.state) for one in layout.dag.segments] == [(0, pb.SEALED), (1, 0), (2, 0)]
    client.send(frame(producer(segment("0000-ffff-0"), 2)))
    assert client.expect(BaseCommand.ERROR).error == pb.TopicTerminatedError


def test_a_rebucketed_segment_is_sealed_and_has_one_child(admin: Requests, client: RawClient) -> None:
    admin("PUT", PATH)
    lookup(client, X)
    assert admin("POST", f"{PATH}/rebucket/0?bucketCount=2").status == 204
    assert segments(admin) == {"0": "0000-ffff SEALED", "1": "0000-ffff ACTIVE"}
    layout = update(client).dag
    assert [list(one.entry_bucket_splits) for one in layout.segments] == [[0x4000, 0x8000, 0xC000], [0x8000]]
    stats = admin("GET", f"{PATH}/stats").json["layout"]["segments"]
    assert [stats[key]["entryBuckets"] for key in "01"] == [4, 2]


def test_entry_buckets_are_those_of_the_creation_after_a_restart(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as broker:
        Requests(broker)("PUT", f"{PATH}?numInitialSegments=2")
    with EmbeddedBroker(tmp_path) as broker:
        found = Requests(broker)("GET", PATH).json["segments"]
    assert [found[key]["entryBucketSplits"] for key in "01"] == [[0x8000], [0x8000]]


def test_children_have_the_subscriptions_of_their_parents_from_the_start(admin: Requests, client: RawClient) -> None:
    admin("PUT", PATH)
    admin("PUT", f"{PATH}/subscriptions/made?type=QUEUE")
    subscribe(client, segment("0000-ffff-0"), name="joined", sub_type=pb.CommandSubscribe.Shared)
    admin("POST", f"{PATH}/split/0")
    publish(client, segment("0000-7fff-1"), 0)
    for subscription in ("made", "joined"):
        path = f"segments/public/default/x/0000-7fff-1/subscription/{subscription}/backlog"
        assert admin("GET", path).json == 1


def test_a_stream_consumer_reads_children_after_their_parent(admin: Requests, client: RawClient) -> None:
    admin("PUT", PATH)
    assert assigned(register(client, X, "s", "a")) == ["0000-ffff-0"]
    subscribe(client, segment("0000-ffff-0"), name="s")
    publish(client, segment("0000-ffff-0"), 0)
    message = receive(client)[0]
    admin("POST", f"{PATH}/split/0")
    assert client.expect(BaseCommand.CLOSE_PRODUCER)
    assert next_assignment(client) == ["0000-ffff-0"]
    acknowledge(client, message)
    assert next_assignment(client) == ["0000-7fff-1", "8000-ffff-2"]


def acknowledge(client: RawClient, message: pb.CommandMessage) -> None:
    command = BaseCommand(type=BaseCommand.ACK)
    command.ack.consumer_id, command.ack.ack_type = 1, pb.CommandAck.Cumulative
    command.ack.message_id.add().CopyFrom(message.message_id)
    client.send(frame(command))


def test_a_client_creates_a_missing_topic_if_the_policies_allow(admin: Requests, client: RawClient) -> None:
    assert (lookup(client, X, 1, create_if_missing=False)).error == pb.TopicNotFound
    assert len((lookup(client, X, 2)).dag.segments) == 1
    admin("POST", "namespaces/public/default/autoTopicCreation", {"allowAutoTopicCreation": False})
    answer = lookup(client, "topic://public/default/other", 3)
    assert answer.error == pb.TopicNotFound


@pytest.mark.parametrize("name", [segment("0000-ffff-7"), X])
def test_no_client_creates_a_segment_or_uses_a_scalable_topic_as_a_plain_one(
    admin: Requests, client: RawClient, name: str
) -> None:
    admin("PUT", PATH)
    client.send(frame(producer(name)))
    assert client.expect(BaseCommand.ERROR).error in (pb.TopicNotFound, pb.InvalidTopicName)
    assert admin.broker.topics.segments() == [segment("0000-ffff-0")]


def test_a_deleted_topic_is_gone_everywhere(admin: Requests, client: RawClient) -> None:
    admin("PUT", PATH)
    lookup(client, X)
    client.ask(producer(segment("0000-ffff-0")), BaseCommand.PRODUCER_SUCCESS)
    assert admin("DELETE", PATH).status == 412
    assert admin("DELETE", f"{PATH}?force=true").status == 204
    assert client.expect(BaseCommand.CLOSE_PRODUCER)
    assert (update(client)).error == pb.TopicNotFound
    assert admin("GET", "scalable/public/default").json == []
    assert admin("GET", f"{PATH}/stats").status == 404
    assert admin.broker.topics.segments() == []


def test_a_namespace_has_a_limit_of_scalable_topics(admin: Requests, client: RawClient) -> None:
    admin("POST", "namespaces/public/default/maxTopicsPerNamespace", 1)
    assert admin("PUT", f"{PATH}?numInitialSegments=4").status == 204
    assert admin("PUT", "scalable/public/default/y").status >= 400
    assert lookup(client, "topic://public/default/y").error != 0
    assert admin("GET", "scalable/public/default").json == [X]


def test_scalable_topics_that_are_created_together_do_not_exceed_the_limit(admin: Requests) -> None:
    admin("POST", "namespaces/public/default/maxTopicsPerNamespace", 1)
    changes = admin.broker.scalable.changes

    async def create_three() -> list[object]:
        names = [parse_topic(f"topic://public/default/t-{number}") for number in range(3)]
        return [*await asyncio.gather(*(changes.create(name, 1, {}) for name in names), return_exceptions=True)]

    created = admin.embedded.call(create_three())
    assert [type(result) for result in created].count(LimitReached) == 2


def test_a_namespace_with_scalable_topics_is_not_empty(admin: Requests) -> None:
    admin("PUT", "namespaces/public/ns")
    admin("PUT", "scalable/public/ns/x")
    assert admin("DELETE", "namespaces/public/ns").status == 409
    assert admin("DELETE", "namespaces/public/ns?force=true").status in (204, 405)


def test_segments_have_the_schema_of_their_topic(admin: Requests, client: RawClient) -> None:
    admin("PUT", f"{PATH}?numInitialSegments=2")
    schema = pb.Schema(name="", type=pb.Schema.String, schema_data=b"")
    client.ask(producer(segment("0000-7fff-0"), schema=schema), BaseCommand.PRODUCER_SUCCESS)
    other = pb.Schema(name="", type=pb.Schema.Int32, schema_data=b"")
    client.send(frame(producer(segment("8000-ffff-1"), 2, schema=other)))
    assert client.expect(BaseCommand.ERROR).error == pb.IncompatibleSchema


def test_a_seek_and_a_skip_act_on_every_segment(admin: Requests, client: RawClient) -> None:
    admin("PUT", f"{PATH}?numInitialSegments=2")
    admin("PUT", f"{PATH}/subscriptions/s")
    publish(client, segment("0000-7fff-0"), 0)
    publish(client, segment("8000-ffff-1"), 0, 2)

    def backlog() -> int:
        stats = admin("GET", f"{PATH}/stats").json
        return int(stats["subscriptions"]["s"]["msgBacklog"])

    assert backlog() == 2
    assert admin("POST", f"{PATH}/subscriptions/s/skip-all").status == 204
    assert backlog() == 0
    assert admin("POST", f"{PATH}/subscriptions/s/seek?timestamp=0").status == 204
    assert backlog() == 2
    assert admin("POST", f"{PATH}/subscriptions/unknown/seek?timestamp=0").status == 204
    assert admin("DELETE", f"{PATH}/subscriptions/s").status == 204
    assert admin("GET", f"{PATH}/stats").json["subscriptions"] == {}


def test_a_segment_goes_once_everyone_has_read_it(admin: Requests, client: RawClient) -> None:
    admin("PUT", PATH)
    subscribe(client, segment("0000-ffff-0"), name="q", sub_type=pb.CommandSubscribe.Shared)
    publish(client, segment("0000-ffff-0"), 0)
    message = receive(client)[0]
    admin("POST", f"{PATH}/split/0")
    admin.embedded.call(admin.broker.scalable.collection.collect_all())
    assert "0" in segments(admin), "its queue consumer has a message left"
    command = BaseCommand(type=BaseCommand.ACK)
    command.ack.consumer_id, command.ack.ack_type, command.ack.request_id = 1, pb.CommandAck.Individual, 5
    command.ack.message_id.add().CopyFrom(message.message_id)
    client.expect(BaseCommand.CLOSE_PRODUCER)
    client.ask(command, BaseCommand.ACK_RESPONSE)
    admin.embedded.call(admin.broker.scalable.collection.collect_all())
    assert set(segments(admin)) == {"1", "2"}
    assert admin.broker.topics.segments() == [segment("0000-7fff-1"), segment("8000-ffff-2")]


def test_statistics_have_the_segments_producers_and_subscriptions(admin: Requests, client: RawClient) -> None:
    admin("PUT", PATH)
    register(client, X, "s", "a")
    client.ask(producer(segment("0000-ffff-0"), producer_name="p-seg-0"), BaseCommand.PRODUCER_SUCCESS)
    admin("POST", f"{PATH}/split/0")
    client.expect(BaseCommand.CLOSE_PRODUCER)
    next_assignment(client)
    client.ask(producer(segment("0000-7fff-1"), producer_name="p-seg-1"), BaseCommand.PRODUCER_SUCCESS)
    stats = admin("GET", f"{PATH}/stats").json
    assert [one["producerName"] for one in stats["producers"]] == ["p"]
    assert stats["subscriptions"]["s"]["type"] == "STREAM"
    assert [(one["consumerName"], one["connected"]) for one in stats["subscriptions"]["s"]["consumers"]] == [
        ("a", True)
    ]
    assert (stats["totalSegments"], stats["activeSegments"], stats["sealedSegments"]) == (3, 2, 1)
    assert stats["layout"]["segments"]["0"]["topic"] == segment("0000-ffff-0")
    assert admin("GET", f"{PATH}/segments/1/stats").json["publishers"][0]["producerName"] == "p-seg-1"


def test_a_lookup_over_http_finds_the_topic(admin: Requests) -> None:
    assert admin("GET", "/lookup/v2/topic/topic/public/default/x").status == 404
    admin("PUT", PATH)
    answer = admin("GET", "/lookup/v2/topic/topic/public/default/x")
    assert answer.json["brokerUrl"] == admin.broker.service_url
