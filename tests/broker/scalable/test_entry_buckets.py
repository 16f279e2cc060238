"""Stream consumers that share a segment by entry buckets, because there are more of them than segments."""

from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import ScalableConfig
from broker_core.config.scaling import ScalingConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.frame import Command
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.scalable.commands import register, send, unregister
from tests.broker.scalable.requests import Requests
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import close_consumer, subscribe

X = "topic://public/default/x"
PATH = "scalable/public/default/x"
SEGMENT = "segment://public/default/x/0000-ffff-0"
RELEASE, MILESTONE = "Pulsar-Java-v5.0.0", "Pulsar-Java-v5.0.0-M1"
FOUR = [0, 0x4000, 0x8000, 0xC000]


def started(*, shares: bool, scales: bool = False) -> EmbeddedBroker:
    return EmbeddedBroker(
        config=BrokerConfig(
            server=FREE_PORTS,
            scalable=ScalableConfig(shares_buckets=shares),
            scaling=ScalingConfig(enabled=scales),
        )
    )


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with started(shares=True) as broker:
        Requests(broker)("PUT", PATH)
        yield broker


def client_of(broker: EmbeddedBroker, version: str = RELEASE) -> RawClient:
    return RawClient(broker.service_url, version=version)


Shares = list[tuple[str, list[int]]]


def shares(message: Any) -> Shares:
    """The segments of an assignment, and the first hashes of the buckets of those that are shared."""
    return [
        (one.segment_topic.rpartition("/")[2], [bounds.start for bounds in one.bucket_ranges])
        for one in message.assignment.segments
    ]


def told(client: RawClient) -> Shares:
    return shares(client.expect(BaseCommand.SCALABLE_TOPIC_ASSIGNMENT_UPDATE))


def join(client: RawClient, name: str, consumer_id: int) -> Shares:
    """Registers one more consumer of a connection, which learns of the others' segments before the answer."""
    fields = {"topic": X, "subscription": "s", "consumer_name": name, "consumer_id": consumer_id}
    send(client, BaseCommand.SCALABLE_TOPIC_SUBSCRIBE, request_id=1, consumer_type=pb.STREAM, **fields)
    while True:
        command = client.next()
        if isinstance(command, Command) and command.type == BaseCommand.SCALABLE_TOPIC_SUBSCRIBE_RESPONSE:
            return shares(command.message)


def share(client: RawClient, consumer_id: int = 1) -> None:
    """Subscribes to the segment as a consumer that shares it."""
    command = BaseCommand(type=BaseCommand.SUBSCRIBE)
    body = command.subscribe
    body.topic, body.subscription, body.consumer_id, body.request_id = SEGMENT, "s", consumer_id, consumer_id
    body.subType = pb.CommandSubscribe.Key_Shared
    body.keySharedMeta.keySharedMode, body.keySharedMeta.entryBucketDispatch = pb.STICKY, True
    ends = [start - 1 for start in FOUR[1:]]
    for start, end in zip(FOUR, [*ends, 0xFFFF], strict=True):
        body.keySharedMeta.hashRanges.add(start=start, end=end)
    client.ask(command, BaseCommand.SUCCESS)


def close(client: RawClient) -> None:
    client.send(close_consumer())
    client.expect(BaseCommand.SUCCESS)


def test_a_second_consumer_shares_the_segment_once_the_first_one_has_closed_it(broker: EmbeddedBroker) -> None:
    with client_of(broker) as first, client_of(broker) as second:
        assert shares(register(first, X, "s", "a")) == [("0000-ffff-0", [])]
        subscribe(first, SEGMENT, name="s")
        assert shares(register(second, X, "s", "b")) == []
        assert told(first) == [("0000-ffff-0", FOUR)]
        close(first)
        assert told(second) == [("0000-ffff-0", FOUR)]
        share(first)
        share(second)


def test_a_third_consumer_joins_those_that_share_at_once(broker: EmbeddedBroker) -> None:
    with client_of(broker) as first, client_of(broker) as second:
        for number, name in enumerate("ab", 1):
            join(first, name, number)
        for number in (1, 2):
            share(first, number)
        assert shares(register(second, X, "s", "c")) == [("0000-ffff-0", FOUR)]


def test_the_last_consumer_has_the_segment_on_its_own_once_the_others_have_closed_it(broker: EmbeddedBroker) -> None:
    with client_of(broker) as first, client_of(broker) as second:
        register(first, X, "s", "a")
        register(second, X, "s", "b")
        assert told(first) == [("0000-ffff-0", FOUR)]
        share(first)
        share(second)
        unregister(second)
        register(first, X, "other", "a", 9)  # what the first consumer is told would arrive before the answer
        close(second)
        assert told(first) == [("0000-ffff-0", [])]


def test_there_are_at_most_as_many_consumers_as_buckets(broker: EmbeddedBroker) -> None:
    with client_of(broker) as client:
        found = [join(client, name, number) for number, name in enumerate("abcde")]
        assert found == [[("0000-ffff-0", [])], *[[("0000-ffff-0", FOUR)]] * 3, []]


def test_a_milestone_gets_no_shared_segment(broker: EmbeddedBroker) -> None:
    with client_of(broker, MILESTONE) as early, client_of(broker) as client:
        register(early, X, "s", "a")
        assert shares(register(client, X, "s", "b")) == []
        unregister(early)
        assert told(client) == [("0000-ffff-0", [])]
        assert shares(register(early, X, "s", "c")) == []


def test_a_sealed_segment_without_a_backlog_has_no_consumers(broker: EmbeddedBroker) -> None:
    assert Requests(broker)("POST", f"{PATH}/rebucket/0?bucketCount=2").status == 204
    with client_of(broker) as client:
        found = [join(client, name, number) for number, name in enumerate("abc")]
        assert found == [[("0000-ffff-1", [])], [("0000-ffff-1", [0, 0x8000])], []]


def test_segments_are_not_shared_unless_policies_allow_it(broker: EmbeddedBroker) -> None:
    Requests(broker)("POST", "namespaces/public/default/subscriptionTypesEnabled", ["Exclusive", "Shared"])
    with client_of(broker) as client:
        register(client, X, "s", "a")
        assert shares(register(client, X, "s", "b", 2)) == []


def test_segments_are_not_shared_while_key_shared_subscriptions_are_disabled(broker: EmbeddedBroker) -> None:
    configuration = "brokers/configuration/subscriptionKeySharedEnable"
    with client_of(broker) as first, client_of(broker) as second:
        Requests(broker)("POST", f"{configuration}/false")
        register(first, X, "s", "a")
        assert shares(register(second, X, "s", "b")) == []
        Requests(broker)("POST", f"{configuration}/true")
        assert told(first) == told(second) == [("0000-ffff-0", FOUR)], "once they are enabled again"


def test_consumers_stop_sharing_a_segment_once_policies_do_not_allow_it(broker: EmbeddedBroker) -> None:
    with client_of(broker) as first, client_of(broker) as second:
        register(first, X, "s", "a")
        register(second, X, "s", "b")
        assert told(first) == [("0000-ffff-0", FOUR)]
        Requests(broker)("POST", "namespaces/public/default/subscriptionTypesEnabled", ["Exclusive", "Shared"])
        assert (told(first), told(second)) == ([("0000-ffff-0", [])], [])


def test_segments_are_not_shared_without_the_setting() -> None:
    with started(shares=False) as broker, client_of(broker) as client:
        Requests(broker)("PUT", PATH)
        register(client, X, "s", "a")
        assert shares(register(client, X, "s", "b", 2)) == []


def test_checkpoint_consumers_do_not_share_segments(broker: EmbeddedBroker) -> None:
    with client_of(broker) as client:
        register(client, X, "s", "a", kind=pb.CHECKPOINT)
        assert shares(register(client, X, "s", "b", 2, kind=pb.CHECKPOINT)) == []


def test_consumers_that_share_an_idle_segment_get_more_buckets_and_no_more_segments() -> None:
    with started(shares=True, scales=True) as broker, client_of(broker) as client:
        admin = Requests(broker)
        admin("PUT", PATH)
        for number, name in enumerate("abcde"):
            join(client, name, number)
        broker.call(broker.broker.scalable.scaling.decide_all())
        segments = admin("GET", f"{PATH}/stats").json["layout"]["segments"]
        assert {key: (one["state"], one["entryBuckets"]) for key, one in segments.items()} == {
            "0": ("SEALED", 4),
            "1": ("ACTIVE", 8),
        }


def test_consumers_of_a_milestone_still_get_more_segments() -> None:
    with started(shares=True, scales=True) as broker, client_of(broker, MILESTONE) as client:
        admin = Requests(broker)
        admin("PUT", PATH)
        for number, name in enumerate("ab"):
            join(client, name, number)
        broker.call(broker.broker.scalable.scaling.decide_all())
        assert len(admin("GET", PATH).json["segments"]) == 3
