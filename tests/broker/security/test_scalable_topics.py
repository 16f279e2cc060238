"""Permissions of the clients of scalable topics: revoked while they work, and those of a segment."""

import contextlib
from collections.abc import Iterator

import pytest

from broker_core.names import parse_topic
from broker_core.security.authorization import Target
from broker_core.security.operations import on_topic
from broker_core.security.principal import Principal
from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands, commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.scalable.commands import assigned, lookup, next_assignment, register, send, update
from tests.support.raw_client import RawClient
from tests.support.secured import NAMESPACE, PARTED, ask, close_clients, config, prepare, raw

SCALABLE = f"topic://{NAMESPACE}/growing"


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=config()) as started:
        prepare(started)
        assert ask(started, "PUT", f"scalable/{NAMESPACE}/growing?numInitialSegments=2").status == 204
        yield started
        close_clients()


def role_of(request: pytest.FixtureRequest) -> str:
    return str(request.node.name.partition("[")[0])


@pytest.fixture
def client(broker: EmbeddedBroker, request: pytest.FixtureRequest) -> RawClient:
    """One with a role of its own, which may consume until `revoke` is called."""
    role = role_of(request)
    assert ask(broker, "POST", f"namespaces/{NAMESPACE}/permissions/{role}", ["consume"]).status == 204
    return raw(broker, role)


def revoke(broker: EmbeddedBroker, request: pytest.FixtureRequest) -> None:
    assert ask(broker, "DELETE", f"namespaces/{NAMESPACE}/permissions/{role_of(request)}").status == 204


@pytest.mark.parametrize("topic", [PARTED, SCALABLE])
def test_a_session_ends_with_the_permission(
    broker: EmbeddedBroker, client: RawClient, request: pytest.FixtureRequest, topic: str
) -> None:
    assert lookup(client, topic).dag.segments
    revoke(broker, request)
    refused = update(client)
    assert (refused.error, refused.message) == (pb.AuthorizationError, "Client is not authorized to Lookup")
    assert lookup(client, topic).error == pb.AuthorizationError, "the ID is free, and the role is still refused"


@pytest.mark.parametrize("topic", [PARTED, SCALABLE])
def test_a_registered_consumer_loses_its_segments_with_the_permission(
    broker: EmbeddedBroker, client: RawClient, request: pytest.FixtureRequest, topic: str
) -> None:
    segments = register(client, topic, "s", "a").assignment.segments
    client.send(client_commands.subscribe(1, segments[0].segment_topic, "s", 7))
    client.expect(BaseCommand.SUCCESS)
    revoke(broker, request)
    assert next_assignment(client) == []
    assert client.expect(BaseCommand.CLOSE_CONSUMER).consumer_id == 7
    other = raw(broker, "consumer")
    assert len(assigned(register(other, topic, "s", "b"))) == 2, "nothing is kept for the first one"
    other.close()


@pytest.mark.parametrize("topic", [PARTED, SCALABLE])
def test_who_keeps_a_permission_keeps_sessions_and_segments(
    broker: EmbeddedBroker, client: RawClient, request: pytest.FixtureRequest, topic: str
) -> None:
    stays = raw(broker, "consumer")
    lookup(stays, topic)
    register(stays, topic, "kept", "a")
    revoke(broker, request)
    with pytest.raises(TimeoutError):
        stays.expect_any(0.3)
    stays.close()


def test_a_watch_of_a_namespace_ends_with_the_permission(
    broker: EmbeddedBroker, client: RawClient, request: pytest.FixtureRequest
) -> None:
    fields = {"watch_id": 1, "namespace": NAMESPACE}
    send(client, BaseCommand.WATCH_SCALABLE_TOPICS, **fields)
    assert list(client.expect(BaseCommand.WATCH_SCALABLE_TOPICS_UPDATE).snapshot.topics) == [SCALABLE]
    revoke(broker, request)
    assert client.expect(BaseCommand.WATCH_SCALABLE_TOPICS_UPDATE).error == pb.AuthorizationError
    assert ask(broker, "PUT", f"scalable/{NAMESPACE}/secret").status == 204
    with pytest.raises(TimeoutError):
        client.expect_any(0.3)
    assert ask(broker, "DELETE", f"scalable/{NAMESPACE}/secret").status == 204


def decided(broker: EmbeddedBroker, role: str, operation: str, topic: str) -> bool:
    target = Target.of_topic(parse_topic(topic), "s")
    return broker.broker.security.decide(Principal(role), on_topic(operation), target).allowed


def test_a_permission_on_a_scalable_topic_counts_for_its_segments_only(broker: EmbeddedBroker) -> None:
    grants = [{"topic": SCALABLE, "role": "granted", "actions": ["consume"]}]
    assert ask(broker, "POST", "namespaces/grantPermissionsOnTopics", grants).status == 204
    segment, other = f"segment://{NAMESPACE}/growing/0000-7fff-0", f"segment://{NAMESPACE}/grown/0000-7fff-0"
    assert decided(broker, "granted", "CONSUME", segment)
    assert decided(broker, "granted", "LOOKUP", segment)
    assert not decided(broker, "granted", "PRODUCE", segment)
    assert not decided(broker, "stranger", "CONSUME", segment)
    for elsewhere in (other, f"persistent://{NAMESPACE}/growing", "segment://acme/other/growing/0000-7fff-0"):
        assert not decided(broker, "granted", "CONSUME", elsewhere)


def test_a_consumer_of_a_segment_needs_the_permission_of_its_topic(broker: EmbeddedBroker) -> None:
    grants = [{"topic": SCALABLE, "role": "reader", "actions": ["consume"]}]
    assert ask(broker, "POST", "namespaces/grantPermissionsOnTopics", grants).status == 204
    segment = f"segment://{NAMESPACE}/growing/0000-7fff-0"
    for role, expected in (("reader", BaseCommand.SUCCESS), ("nothing", BaseCommand.ERROR)):
        one = raw(broker, role)
        one.send(client_commands.subscribe(1, segment, role, 1))
        one.expect(expected)
        one.close()


def test_the_ledgers_of_a_segment_need_the_permission_of_its_topic(broker: EmbeddedBroker) -> None:
    grants = [{"topic": SCALABLE, "role": "auditor", "actions": ["consume"]}]
    assert ask(broker, "POST", "namespaces/grantPermissionsOnTopics", grants).status == 204
    segment = f"segments/{NAMESPACE}/growing/0000-7fff-0"
    for path in ("internalStats", "stats", "internal-info", "messageid/0", "offload"):
        assert ask(broker, "GET", f"{segment}/{path}", role="stranger").status == 401, path
        expected = 401 if path == "offload" else 200
        assert ask(broker, "GET", f"{segment}/{path}", role="auditor").status == expected, path


@contextlib.contextmanager
def delayed(broker: EmbeddedBroker, topic: str) -> Iterator[None]:
    """Changes of the topic, such as its creation, wait for the end of the block."""
    alone = broker.broker.scalable.changes.alone(parse_topic(topic))
    broker.call(alone.__aenter__())
    try:
        yield
    finally:
        broker.call(alone.__aexit__(None, None, None))


def test_a_lookup_that_waits_is_refused_if_the_permission_is_revoked(
    broker: EmbeddedBroker, client: RawClient, request: pytest.FixtureRequest
) -> None:
    topic = f"topic://{NAMESPACE}/looked-up"
    with delayed(broker, topic):
        send(client, BaseCommand.SCALABLE_TOPIC_LOOKUP, session_id=1, topic=topic, create_if_missing=True)
        client.send(commands.ping())
        client.expect(BaseCommand.PONG)
        revoke(broker, request)
    assert update(client).error == pb.AuthorizationError
    assert ask(broker, "DELETE", f"scalable/{NAMESPACE}/looked-up").status == 204


def test_a_registration_that_waits_is_refused_if_the_permission_is_revoked(
    broker: EmbeddedBroker, client: RawClient, request: pytest.FixtureRequest
) -> None:
    topic = f"topic://{NAMESPACE}/registered"
    fields = {"topic": topic, "subscription": "s", "consumer_name": "a", "consumer_id": 1, "consumer_type": pb.STREAM}
    with delayed(broker, topic):
        send(client, BaseCommand.SCALABLE_TOPIC_SUBSCRIBE, request_id=1, **fields)
        client.send(commands.ping())
        client.expect(BaseCommand.PONG)
        revoke(broker, request)
    assert client.expect(BaseCommand.SCALABLE_TOPIC_SUBSCRIBE_RESPONSE).error == pb.AuthorizationError
    assert ask(broker, "DELETE", f"scalable/{NAMESPACE}/registered").status == 204
