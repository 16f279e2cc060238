"""The subscriptions of scalable topics through deletion, splits, and unloads."""

import asyncio
from collections.abc import Iterable

import pytest

from broker_core.names import TopicName, parse_topic
from broker_core.scalable.layout import Segment
from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.scalable.commands import assigned, next_assignment, register, unregister
from tests.broker.scalable.requests import Requests
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import receive, subscribe
from tests.support.raw_publishing import producer, send

X = "topic://public/default/x"
PATH = "scalable/public/default/x"
FIRST = "segment://public/default/x/0000-ffff-0"


def publish(client: RawClient, topic: str = FIRST) -> None:
    client.ask(producer(topic), BaseCommand.PRODUCER_SUCCESS)
    client.send(send(0))
    client.expect(BaseCommand.SEND_RECEIPT)


def read_first_segment(admin: Requests, client: RawClient) -> None:
    """A stream consumer reads a message of the first segment, which is split, and gets the children."""
    admin("PUT", PATH)
    register(client, X, "s", "a")
    subscribe(client, FIRST, name="s")
    publish(client)
    message = receive(client)[0]
    admin("POST", f"{PATH}/split/0")
    client.expect(BaseCommand.CLOSE_PRODUCER)
    assert next_assignment(client) == ["0000-ffff-0"]
    client.send(client_commands.acknowledge(1, [message.message_id], cumulative=True))
    assert next_assignment(client) == ["0000-7fff-1", "8000-ffff-2"]


def test_a_deleted_stream_subscription_stays_deleted(
    admin: Requests, client: RawClient, broker: EmbeddedBroker
) -> None:
    admin("PUT", PATH)
    register(client, X, "s", "a")
    assert admin("DELETE", f"{PATH}/subscriptions/s").status == 204
    assert next_assignment(client) == [], "a client that kept its segments would subscribe to them again"
    admin("POST", f"{PATH}/split/0")
    record = broker.broker.scalable.records.find(parse_topic(X))
    assert (dict(record.subscriptions), dict(record.consumers)) == ({}, {})
    assert admin("GET", f"{PATH}/stats").json["subscriptions"] == {}


def test_a_subscription_that_is_made_again_passes_a_sealed_segment(admin: Requests, client: RawClient) -> None:
    read_first_segment(admin, client)
    assert admin("DELETE", f"{PATH}/subscriptions/s").status == 204
    with RawClient(admin.embedded.service_url) as again:
        assert assigned(register(again, X, "s", "b")) == ["0000-ffff-0"]
        subscribe(again, FIRST, name="s", initial_position=pb.CommandSubscribe.Latest)
        assert next_assignment(again) == ["0000-7fff-1", "8000-ffff-2"]


def test_a_drained_segment_that_is_unloaded_stays_drained(
    admin: Requests, client: RawClient, broker: EmbeddedBroker
) -> None:
    read_first_segment(admin, client)
    broker.call(broker.broker.topics.unload(parse_topic(FIRST)))
    client.expect(BaseCommand.CLOSE_CONSUMER)
    with RawClient(broker.service_url) as other:
        assert assigned(register(other, X, "s", "b")) == ["8000-ffff-2"]
    assert next_assignment(client) == ["0000-7fff-1"]


def test_a_stream_consumer_holds_the_segments_that_it_reads_later(admin: Requests, client: RawClient) -> None:
    admin("PUT", PATH)
    publish(client)
    admin("POST", f"{PATH}/split/0")
    client.expect(BaseCommand.CLOSE_PRODUCER)
    child = "0000-7fff-1"
    publish(client, f"segment://public/default/x/{child}")
    assert assigned(register(client, X, "s", "a")) == ["0000-ffff-0"]
    subscribe(client, FIRST, name="s", initial_position=pb.CommandSubscribe.Earliest)
    assert admin("GET", f"segments/public/default/x/{child}/subscription/s/backlog").json == 1


def test_a_stream_consumer_that_begins_with_new_messages_gets_all_of_them(admin: Requests, client: RawClient) -> None:
    admin("PUT", PATH)
    publish(client)
    admin("POST", f"{PATH}/split/0")
    client.expect(BaseCommand.CLOSE_PRODUCER)
    child = "segment://public/default/x/0000-7fff-1"
    with RawClient(admin.embedded.service_url) as reader:
        assert assigned(register(reader, X, "s", "a")) == ["0000-ffff-0"]
        subscribe(reader, FIRST, name="s", initial_position=pb.CommandSubscribe.Latest)
        publish(client, child)
        assert next_assignment(reader) == ["0000-7fff-1", "8000-ffff-2"]
        subscribe(reader, child, 2, name="s", initial_position=pb.CommandSubscribe.Latest)
        assert receive(reader)[0].consumer_id == 2


def test_a_queue_consumer_that_comes_after_the_seal_of_a_segment_gets_new_messages_of_the_children(
    admin: Requests, client: RawClient
) -> None:
    admin("PUT", PATH)
    admin("POST", f"{PATH}/split/0")
    child = "segment://public/default/x/0000-7fff-1"
    publish(client, child)
    with RawClient(admin.embedded.service_url) as reader:
        subscribe(reader, FIRST, name="s", initial_position=pb.CommandSubscribe.Latest)
        client.send(send(1))
        client.expect(BaseCommand.SEND_RECEIPT)
        subscribe(reader, child, 2, name="s", initial_position=pb.CommandSubscribe.Latest)
        assert receive(reader)[0].message_id.entryId == 1


def test_a_subscription_that_begins_during_a_split_is_in_the_children(
    admin: Requests, broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin("PUT", PATH)
    scalable, name = broker.broker.scalable, parse_topic(X)
    create = scalable.segments.create
    begins: list[asyncio.Future[None]] = []

    async def begin_between(name: TopicName, segment: Segment, subscriptions: Iterable[str] = ()) -> None:
        await create(name, segment, subscriptions)
        if scalable.segments.is_sealed(name, scalable.records.find(name).layout.segments[0]) and not begins:
            begins.append(asyncio.ensure_future(scalable.subscriptions.begin(name, "s", earliest=True)))
            await asyncio.wait(begins, timeout=0.1)

    async def split() -> None:
        await scalable.changes.split(name, 0)
        await begins[0]

    monkeypatch.setattr(scalable.segments, "create", begin_between)
    broker.call(split())
    assert sorted(admin("GET", f"{PATH}/stats").json["subscriptions"]["s"]["segments"]) == ["0", "1", "2"]


def test_a_seek_takes_the_children_away_before_their_messages_come_again(admin: Requests, client: RawClient) -> None:
    read_first_segment(admin, client)
    subscribe(client, "segment://public/default/x/0000-7fff-1", 2, name="s")
    assert admin("POST", f"{PATH}/subscriptions/s/seek?timestamp=0").status == 204
    assert client.expect(BaseCommand.CLOSE_CONSUMER).consumer_id == 1
    assert next_assignment(client) == ["0000-ffff-0"]
    assert client.expect(BaseCommand.CLOSE_CONSUMER).consumer_id == 2


def test_requests_for_a_whole_namespace_reach_the_segments(admin: Requests, client: RawClient) -> None:
    admin("PUT", PATH)
    admin("PUT", f"{PATH}/subscriptions/q?type=QUEUE")
    publish(client)
    backlog = "segments/public/default/x/0000-ffff-0/subscription/q/backlog"
    assert admin("GET", backlog).json == 1
    assert admin("POST", "namespaces/public/default/clearBacklog").status == 204
    assert admin("GET", backlog).json == 0
    assert admin("PUT", "namespaces/public/default/unload").status == 204
    client.expect(BaseCommand.CLOSE_PRODUCER)
    assert admin("POST", "namespaces/public/default/unsubscribe/q").status == 204
    assert admin("GET", backlog).status == 404


def test_a_segment_that_a_topic_has_cannot_be_deleted(admin: Requests) -> None:
    admin("PUT", PATH)
    answer = admin("DELETE", "segments/public/default/x/0000-ffff-0?force=true")
    assert (answer.status, "has this segment" in answer.reason) == (409, True)
    assert admin("POST", f"{PATH}/split/0").status == 204


@pytest.mark.parametrize("name", ["pulsar.repl.other", "__compaction", "", " "])
def test_a_subscription_that_no_segment_could_have_is_refused(admin: Requests, client: RawClient, name: str) -> None:
    admin("PUT", PATH)
    refused = register(client, X, name, "a")
    assert (refused.error, refused.message) == (pb.NotAllowedError, f"Subscription name {name} is reserved")
    if name:
        assert admin("PUT", f"{PATH}/subscriptions/{name.replace(' ', '%20')}").status == 405
    assert admin("GET", f"{PATH}/stats").json["subscriptions"] == {}
    assert admin("POST", f"{PATH}/split/0").status == 204, "the first segment is sealed, so the others have to follow"


def test_stream_consumers_make_no_more_subscriptions_than_a_topic_may_have(admin: Requests, client: RawClient) -> None:
    admin("PUT", PATH)
    admin("POST", "namespaces/public/default/maxSubscriptionsPerTopic", 2)
    for consumer_id, name in enumerate(("s", "t")):
        register(client, X, name, "a", consumer_id)
    assert "maximum number of subscriptions" in register(client, X, "u", "a", 3).message
    assert admin("PUT", f"{PATH}/subscriptions/u").status == 409
    assert not register(client, X, "s", "b", 4).HasField("error"), "the subscription exists"
    assert sorted(admin("GET", f"{PATH}/stats").json["subscriptions"]) == ["s", "t"]


def test_a_lower_limit_of_subscriptions_leaves_a_split_complete(admin: Requests) -> None:
    admin("PUT", PATH)
    for name in ("s", "t"):
        admin("PUT", f"{PATH}/subscriptions/{name}")
    admin("POST", "namespaces/public/default/maxSubscriptionsPerTopic", 1)
    assert admin("POST", f"{PATH}/split/0").status == 204
    stats = admin("GET", f"{PATH}/stats").json
    assert [sorted(stats["subscriptions"][name]["segments"]) for name in ("s", "t")] == [["0", "1", "2"]] * 2


@pytest.mark.parametrize("kind", [pb.STREAM, pb.CHECKPOINT])
@pytest.mark.parametrize(
    ("policy", "other", "reason"),
    [
        ("maxConsumersPerSubscription", "s", "Subscription reached max consumers limit"),
        ("maxConsumersPerTopic", "t", "Topic reached max consumers limit"),
    ],
)
@pytest.mark.parametrize("topic", [X, "persistent://public/default/regular"])
def test_no_more_consumers_register_than_the_policies_allow(
    admin: Requests, client: RawClient, topic: str, policy: str, other: str, reason: str, kind: int
) -> None:
    admin("POST", f"namespaces/public/default/{policy}", 2)
    for consumer_id, (subscription, name) in enumerate((("s", "a"), (other, "b"))):
        assert assigned(register(client, topic, subscription, name, consumer_id, kind)) or consumer_id
    refused = register(client, topic, "s", "c", 3, kind)
    assert (refused.error, refused.message) == (pb.ConsumerBusy, reason)
    assert assigned(register(client, topic, "s", "a", 0, kind)), "it is registered already"
    unregister(client, 1)
    assert not register(client, topic, "s", "c", 3, kind).HasField("error")


def test_a_stream_consumer_makes_no_subscription_that_the_policies_forbid(admin: Requests, client: RawClient) -> None:
    admin("PUT", PATH)
    register(client, X, "s", "a")
    allowed = {"allowAutoSubscriptionCreation": False}
    assert admin("POST", "namespaces/public/default/autoSubscriptionCreation", allowed).status == 204
    refused = register(client, X, "t", "a", 2)
    assert (refused.error, refused.message) == (pb.SubscriptionNotFound, f"Subscription t does not exist on {X}")
    assert list(admin("GET", f"{PATH}/stats").json["subscriptions"]) == ["s"]
    assert admin("PUT", f"{PATH}/subscriptions/t").status == 204
    for consumer_id, (subscription, kind) in enumerate((("s", pb.STREAM), ("t", pb.STREAM), ("g", pb.CHECKPOINT)), 2):
        assert not register(client, X, subscription, "b", consumer_id, kind).HasField("error")
