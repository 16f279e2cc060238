"""What the broker keeps for the clients of scalable topics: sessions and registered consumers, and how they end."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import ScalableConfig
from broker_core.names import parse_topic
from broker_core.server.handlers import scalable as limits
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.scalable.commands import assigned, framed, lookup, next_assignment, register, send, unregister
from tests.broker.scalable.requests import Requests
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import subscribe

TOPIC = "persistent://public/default/shared"


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    """Its grace period is short."""
    config = BrokerConfig(server=FREE_PORTS, scalable=ScalableConfig(grace_seconds=0.01))
    with EmbeddedBroker(config=config) as started:
        started.create_partitioned_topic(TOPIC, 2)
        yield started


def registration(topic: str, request_id: int) -> bytes:
    """SCALABLE_TOPIC_SUBSCRIBE of consumer 1."""
    fields = {"topic": topic, "subscription": "s", "consumer_name": "a", "consumer_id": 1, "consumer_type": pb.STREAM}
    return framed(BaseCommand.SCALABLE_TOPIC_SUBSCRIBE, request_id=request_id, **fields)


def groups(broker: EmbeddedBroker) -> dict[Any, Any]:
    return broker.broker.scalable.groups._topics


def sessions(broker: EmbeddedBroker) -> dict[Any, Any]:
    return broker.broker.scalable._sessions


def test_a_connection_has_a_bounded_number_of_sessions(client: RawClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SESSIONS_PER_CONNECTION", 2)
    for session_id in (1, 2):
        assert lookup(client, TOPIC, session_id).dag.segments
    refused = lookup(client, TOPIC, 3)
    assert (refused.error, refused.message) == (pb.NotAllowedError, "A connection may have 2 sessions of topics")
    send(client, BaseCommand.SCALABLE_TOPIC_CLOSE, session_id=1)
    assert lookup(client, TOPIC, 3).dag.segments


def test_lookups_on_the_way_count_as_sessions(client: RawClient) -> None:
    topic = "topic://public/default/new"  # both wait until it is created
    client.send(framed(BaseCommand.SCALABLE_TOPIC_LOOKUP, session_id=1, topic=topic) * 2)
    answers = [client.expect(BaseCommand.SCALABLE_TOPIC_UPDATE) for _ in range(2)]
    assert sorted(answer.message for answer in answers) == ["", "Session 1 exists already"]


def test_a_session_that_is_closed_before_its_lookup_is_answered_stays_closed(
    client: RawClient, broker: EmbeddedBroker
) -> None:
    topic = "topic://public/default/new"  # both lookups wait until it is created
    opens = framed(BaseCommand.SCALABLE_TOPIC_LOOKUP, session_id=1, topic=topic)
    client.send(opens + framed(BaseCommand.SCALABLE_TOPIC_CLOSE, session_id=1))
    assert lookup(client, topic, 2).session_id == 2
    assert len(sessions(broker)[parse_topic(topic)]) == 1
    assert lookup(client, TOPIC, 1).dag.segments, "its ID is free"


def test_a_connection_has_a_bounded_number_of_registered_consumers(
    client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REGISTRATIONS_PER_CONNECTION", 2)
    for number in (1, 2):
        register(client, TOPIC, f"s{number}", "a", number)
    refused = register(client, TOPIC, "s3", "a", 3)
    assert (refused.error, refused.message) == (pb.NotAllowedError, "A connection may have 2 registered consumers")
    unregister(client, 1)
    assert assigned(register(client, TOPIC, "s3", "a", 3))


def test_a_refused_registration_leaves_no_group_behind(
    client: RawClient, broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REGISTRATIONS_PER_CONNECTION", 0)
    assert register(client, TOPIC, "s", "a").error == pb.NotAllowedError
    assert not groups(broker)


def test_an_id_has_one_registered_consumer(client: RawClient) -> None:
    register(client, TOPIC, "s", "a")
    refused = register(client, TOPIC, "s", "b")
    assert (refused.error, refused.message) == (pb.NotAllowedError, "Consumer 1 is registered already")
    assert len(assigned(register(client, TOPIC, "s", "a"))) == 2, "a client may repeat its request"


@pytest.mark.parametrize("topic", [TOPIC, "topic://public/default/new"])  # the broker creates the second one first
def test_a_consumer_that_is_unsubscribed_while_it_is_being_registered_is_gone(
    client: RawClient, broker: EmbeddedBroker, topic: str
) -> None:
    client.send(registration(topic, 1) + framed(BaseCommand.SCALABLE_TOPIC_UNSUBSCRIBE, request_id=2, consumer_id=1))
    client.expect(BaseCommand.SUCCESS)
    refused = client.expect(BaseCommand.SCALABLE_TOPIC_SUBSCRIBE_RESPONSE)
    assert (refused.error, refused.message) == (pb.MetadataError, "Consumer 1 was closed while it was being created")
    assert not groups(broker)


def test_an_id_is_free_once_its_consumer_is_unsubscribed(client: RawClient) -> None:
    topic = "topic://public/default/new"  # both registrations wait until it is created
    leaves = framed(BaseCommand.SCALABLE_TOPIC_UNSUBSCRIBE, request_id=2, consumer_id=1)
    client.send(registration(topic, 1) + leaves + registration(topic, 3))
    client.expect(BaseCommand.SUCCESS)
    answers = [client.expect(BaseCommand.SCALABLE_TOPIC_SUBSCRIBE_RESPONSE) for _ in range(2)]
    assert {answer.request_id: assigned(answer) for answer in answers} == {1: [], 3: ["0000-ffff-0"]}


def test_a_consumer_whose_name_another_connection_has_taken_takes_nothing_with_it(
    client: RawClient, broker: EmbeddedBroker
) -> None:
    register(client, TOPIC, "s", "a")
    with RawClient(broker.service_url) as second:
        register(second, TOPIC, "s", "a")
        unregister(client)
        register(client, TOPIC, "s", "b")
        assert len(next_assignment(second)) == 1, "it is still registered"


def test_a_client_that_does_not_read_gets_the_last_assignment_once_it_does(
    client: RawClient, broker: EmbeddedBroker
) -> None:
    register(client, TOPIC, "s", "a")
    connection: Any = next(iter(broker.broker.connections))

    async def set_writable(writable: bool) -> None:
        (connection.resume_writing if writable else connection.pause_writing)()

    broker.call(set_writable(False))
    with RawClient(broker.service_url) as other:
        register(other, TOPIC, "s", "b")
        unregister(client, 9)  # nothing has arrived before the answer
        broker.call(set_writable(True))
        assert len(next_assignment(client)) == 1


def test_nothing_is_left_of_clients_that_are_gone(client: RawClient, broker: EmbeddedBroker) -> None:
    with RawClient(broker.service_url) as leaves:
        lookup(leaves, TOPIC)
        for number in range(3):
            register(leaves, TOPIC, f"s{number}", "a", number)
    wait_until(lambda: not groups(broker) and not sessions(broker), 5)


def test_nothing_is_left_of_the_consumers_of_a_deleted_topic(client: RawClient, broker: EmbeddedBroker) -> None:
    admin = Requests(broker)
    assert admin("PUT", "scalable/public/default/gone?numInitialSegments=2").status == 204
    with RawClient(broker.service_url) as other:
        for number, one in enumerate((client, other)):
            register(one, "topic://public/default/gone", "s", f"c{number}")
        assert admin("DELETE", "scalable/public/default/gone?force=true").status == 204
    client.close()
    wait_until(lambda: not groups(broker), 5)


def test_the_consumers_of_a_topic_that_is_created_again_take_its_segments(admin: Requests, client: RawClient) -> None:
    admin("PUT", "scalable/public/default/again")
    admin("POST", "scalable/public/default/again/split/0")
    assert register(client, "topic://public/default/again", "s", "a").assignment.layout_epoch == 1
    admin("DELETE", "scalable/public/default/again?force=true")
    admin("PUT", "scalable/public/default/again")
    for segments in (0, 1):
        told = client.expect(BaseCommand.SCALABLE_TOPIC_ASSIGNMENT_UPDATE).assignment
        assert (len(told.segments), told.layout_epoch) == (segments, 1), "clients ignore a lower epoch"


def test_a_group_forgets_segments_that_are_removed(admin: Requests, client: RawClient, broker: EmbeddedBroker) -> None:
    scalable = "topic://public/default/x"
    admin("PUT", "scalable/public/default/x")
    register(client, scalable, "s", "a")
    topic = groups(broker)[parse_topic(scalable)]
    with RawClient(broker.service_url) as other:
        subscribe(other, "segment://public/default/x/0000-ffff-0", name="s")
    wait_until(lambda: topic.by_subscription["s"]._lost, 10)
    admin("POST", "scalable/public/default/x/split/0")
    assert next_assignment(client) == ["0000-7fff-1", "8000-ffff-2"]
    assert topic._drained == {(0, "s")}
    broker.call(broker.broker.scalable.collection.collect_all())
    wait_until(lambda: not topic._drained and not topic.by_subscription["s"]._lost, 10)


def test_consumers_stay_registered_while_the_broker_stops_and_starts(tmp_path: Path) -> None:
    name = parse_topic("topic://public/default/x")
    with EmbeddedBroker(tmp_path) as broker:
        Requests(broker)("PUT", "scalable/public/default/x")
        client = RawClient(broker.service_url)
        register(client, str(name), "s", "a")
        subscribe(client, "segment://public/default/x/0000-ffff-0", 2, name="s")
        wait_until(lambda: bool(broker.broker.scalable.records.find(name).consumers), 5)
    client.close()
    with EmbeddedBroker(tmp_path) as broker, RawClient(broker.service_url) as other:
        assert broker.broker.scalable.records.find(name).consumers == {"s": ("a",)}
        assert assigned(register(other, str(name), "s", "b")) == [], "the consumer may return"
