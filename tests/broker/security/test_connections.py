"""Authentication and permissions of live connections, on the wire."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandProducer, ServerError
from tests.support.clocks import ShiftedClock
from tests.support.condition import wait_until
from tests.support.raw_client import Closed, RawClient
from tests.support.secured import (
    ADMIN,
    NAMESPACE,
    PARTED,
    PLAIN,
    ask,
    config,
    connect,
    expiring_token,
    prepare,
    raw,
    stranger,
    token,
)

LAST_ID = (1 << 64) - 1


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=config(refresh_seconds=0.2)) as found:
        prepare(found)
        yield found


def handshake(broker: EmbeddedBroker, **fields: Any) -> Any:
    """What a CONNECT is answered with."""
    client = stranger(broker)
    client.send(client_commands.connect("raw", **fields))
    found: Any = client.next()
    if found.type == BaseCommand.ERROR:
        assert found.message.request_id == LAST_ID
        assert client.is_closed()
    return found


def new_producer(client: RawClient, topic: str, producer_id: int = 1) -> None:
    body = CommandProducer(topic=topic, producer_id=producer_id, request_id=producer_id)
    client.send(frame(BaseCommand(type=BaseCommand.PRODUCER, producer=body)))


def test_the_official_client_publishes_and_consumes_with_its_token(broker: EmbeddedBroker) -> None:
    with closing(connect(broker, "producer")) as producing, closing(connect(broker, "consumer")) as consuming:
        for topic in (PLAIN, PARTED):
            consumer = consuming.subscribe(topic, "official")
            producing.create_producer(topic).send(b"hello")
            assert consumer.receive(5000).data() == b"hello"


def test_a_wrong_token_gives_the_official_client_its_authentication_error_at_once(broker: EmbeddedBroker) -> None:
    client = pulsar.Client(
        broker.service_url, authentication=pulsar.AuthenticationToken("wrong"), operation_timeout_seconds=30
    )
    started = time.monotonic()
    with closing(client), pytest.raises(pulsar.AuthenticationError):
        client.create_producer(PLAIN)
    assert time.monotonic() - started < 10


def test_a_missing_permission_gives_the_official_client_its_authorization_error(broker: EmbeddedBroker) -> None:
    with closing(connect(broker, "consumer")) as client, pytest.raises(pulsar.AuthorizationError):
        client.create_producer(PLAIN)
    with closing(connect(broker, "producer")) as client, pytest.raises(pulsar.AuthorizationError):
        client.subscribe(PLAIN, "s")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"auth_method_name": "none"},
        {"auth_method_name": "Token", "auth_data": token(ADMIN).encode()},
        {"auth_method_name": "basic", "auth_data": b"admin:admin"},
        {"auth_method_name": "token"},
        {"auth_method_name": "token", "auth_data": b"wrong"},
        {"auth_method_name": "token", "auth_data": token(ADMIN, exp=1).encode()},
    ],
)
def test_a_client_that_proves_nothing_is_refused(broker: EmbeddedBroker, fields: dict[str, Any]) -> None:
    found = handshake(broker, **fields)
    assert (found.type, found.message.error) == (BaseCommand.ERROR, ServerError.AuthenticationError)
    assert found.message.message == "Failed to authenticate"


@pytest.mark.parametrize("version", ["Pulsar-CPP-v3.7.0", "Pulsar-Go-v0.19.0", "Pulsar-Go-version-unknown"])
def test_a_refused_connection_serves_nothing(broker: EmbeddedBroker, version: str) -> None:
    """A client that ignores errors before CONNECTED gets CONNECTED, and then only the error."""
    client = stranger(broker)
    client.send(client_commands.connect(version, auth_method_name="token", auth_data=b"wrong"))
    client.expect(BaseCommand.CONNECTED)
    new_producer(client, PLAIN)
    assert client.expect(BaseCommand.ERROR).error == ServerError.AuthenticationError
    assert client.is_closed()


@pytest.mark.parametrize(
    ("role", "original", "accepted"),
    [
        ("proxy", "producer", True),
        ("proxy", "", False),
        ("proxy", " ", False),
        ("proxy", "proxy", False),
        ("proxy", "__websocket_dummy_original_principle", False),
        ("producer", "producer", False),
        ("producer", "consumer", False),
        (ADMIN, "producer", False),
    ],
)
def test_only_a_proxy_names_another_role(broker: EmbeddedBroker, role: str, original: str, accepted: bool) -> None:
    found = handshake(
        broker, auth_method_name="token", auth_data=token(role).encode(), original_principal=original or None
    )
    if accepted:
        assert found.type == BaseCommand.CONNECTED
    else:
        assert (found.message.error, found.message.message) == (ServerError.AuthorizationError, "Invalid roles.")


@pytest.mark.parametrize(("original", "accepted"), [("producer", True), ("consumer", False), ("unknown", False)])
def test_behind_a_proxy_both_roles_need_the_permission(broker: EmbeddedBroker, original: str, accepted: bool) -> None:
    client = raw(broker, "proxy", original=original)
    new_producer(client, PLAIN)
    client.expect(BaseCommand.PRODUCER_SUCCESS if accepted else BaseCommand.ERROR)


def expiring(broker: EmbeddedBroker, *, can_refresh: bool = True) -> RawClient:
    client = stranger(broker)
    data = expiring_token("producer").encode()
    client.send(
        client_commands.connect("raw", auth_method_name="token", auth_data=data, supports_auth_refresh=can_refresh)
    )
    client.expect(BaseCommand.CONNECTED)
    return client


def test_an_expired_token_is_asked_for_and_its_producer_lives_on(broker: EmbeddedBroker) -> None:
    client = expiring(broker)
    new_producer(client, PLAIN)
    client.expect(BaseCommand.PRODUCER_SUCCESS)
    asked = client.expect(BaseCommand.AUTH_CHALLENGE)
    assert (asked.challenge.auth_method_name, asked.challenge.auth_data) == ("token", b"PulsarAuthRefresh")
    client.send(client_commands.auth_response("raw", "token", token("producer").encode()))
    new_producer(client, PLAIN, 2)
    client.expect(BaseCommand.PRODUCER_SUCCESS)


def test_a_client_that_does_not_answer_is_disconnected(broker: EmbeddedBroker) -> None:
    client = expiring(broker)
    client.expect(BaseCommand.AUTH_CHALLENGE)
    assert client.is_closed()


def test_a_client_that_cannot_renew_its_token_is_disconnected_without_being_asked(broker: EmbeddedBroker) -> None:
    client = expiring(broker, can_refresh=False)
    with pytest.raises(Closed):
        client.expect_any()


def test_a_clock_ahead_asks_for_a_new_token_and_a_clock_set_back_accepts_no_expired_one() -> None:
    clock = ShiftedClock()
    with EmbeddedBroker(config=config(refresh_seconds=0.05), clock=clock) as broker:
        prepare(broker)
        data = token("producer", exp=int(time.time()) + 3600).encode()
        connect_with_token = client_commands.connect(
            "raw", auth_method_name="token", auth_data=data, supports_auth_refresh=True
        )
        client = stranger(broker)
        client.send(connect_with_token)
        client.expect(BaseCommand.CONNECTED)
        clock.jump_ms = 2 * 3_600_000
        client.expect(BaseCommand.AUTH_CHALLENGE)
        clock.jump_ms = -2 * 3_600_000
        client.send(client_commands.auth_response("raw", "token", token("producer", exp=1).encode()))
        assert client.expect(BaseCommand.ERROR).error == ServerError.AuthenticationError
        assert client.is_closed()


@pytest.mark.parametrize(("answer", "told"), [(token("producer", exp=1), True), (token(ADMIN), False)])
def test_an_answer_of_another_role_or_without_proof_ends_the_connection(
    broker: EmbeddedBroker, answer: str, told: bool
) -> None:
    client = raw(broker, "producer")
    client.send(client_commands.auth_response("raw", "token", answer.encode()))
    if told:
        assert client.expect(BaseCommand.ERROR).error == ServerError.AuthenticationError
    assert client.is_closed()


def grant(broker: EmbeddedBroker, path: str, actions: Any, method: str = "POST") -> None:
    assert ask(broker, method, path, actions).status == 204


def test_a_revoked_permission_closes_live_producers_and_consumers(broker: EmbeddedBroker) -> None:
    grant(broker, f"namespaces/{NAMESPACE}/permissions/fleeting", ["produce", "consume"])
    client = raw(broker, "fleeting")
    new_producer(client, PLAIN)
    client.expect(BaseCommand.PRODUCER_SUCCESS)
    client.send(client_commands.subscribe(2, PLAIN, "fleeting", 2))
    client.expect(BaseCommand.SUCCESS)
    grant(broker, f"namespaces/{NAMESPACE}/permissions/fleeting", None, "DELETE")
    items: list[Any] = [client.next(1.0), client.next(1.0)]
    closed = {one.type for one in items}
    assert closed == {BaseCommand.CLOSE_PRODUCER, BaseCommand.CLOSE_CONSUMER}
    new_producer(client, PLAIN, 3)
    assert client.expect(BaseCommand.ERROR).message == "Client is not authorized to Produce"


def test_a_watcher_learns_of_no_topic_after_its_role_lost_the_permission(broker: EmbeddedBroker) -> None:
    grant(broker, f"namespaces/{NAMESPACE}/permissions/watching", ["consume"])
    client = raw(broker, "watching")
    watch = BaseCommand(type=BaseCommand.WATCH_TOPIC_LIST)
    watch.watchTopicList.request_id = watch.watchTopicList.watcher_id = 1
    watch.watchTopicList.namespace, watch.watchTopicList.topics_pattern = NAMESPACE, f"persistent://{NAMESPACE}/.*"
    client.ask(watch, BaseCommand.WATCH_TOPIC_LIST_SUCCESS)
    grant(broker, f"namespaces/{NAMESPACE}/permissions/watching", None, "DELETE")
    wait_until(lambda: not any(one.session.watchers for one in connections(broker)), 1.0)
    assert ask(broker, "PUT", f"persistent/{NAMESPACE}/secret").status == 204
    with pytest.raises(TimeoutError):
        client.expect(BaseCommand.WATCH_TOPIC_UPDATE, 0.3)


def connections(broker: EmbeddedBroker) -> list[Any]:
    return list(broker.broker.connections)


def test_an_admin_who_is_removed_from_the_tenant_loses_producers_at_once(broker: EmbeddedBroker) -> None:
    body = {"adminRoles": ["owner", "leaving"], "allowedClusters": ["standalone"]}
    assert ask(broker, "POST", "tenants/acme", body).status == 204
    client = raw(broker, "leaving")
    new_producer(client, PLAIN)
    client.expect(BaseCommand.PRODUCER_SUCCESS)
    assert ask(broker, "POST", "tenants/acme", {**body, "adminRoles": ["owner"]}).status == 204
    client.expect(BaseCommand.CLOSE_PRODUCER, 1.0)


def test_a_subscription_for_other_roles_closes_the_consumers_of_this_one(broker: EmbeddedBroker) -> None:
    client = raw(broker, "consumer")
    client.send(client_commands.subscribe(1, PLAIN, "exclusive", 1))
    client.expect(BaseCommand.SUCCESS)
    grant(broker, f"namespaces/{NAMESPACE}/permissions/subscription/exclusive", ["topic-consumer"])
    client.expect(BaseCommand.CLOSE_CONSUMER, 1.0)
    client.send(client_commands.subscribe(2, PLAIN, "exclusive", 2))
    assert client.expect(BaseCommand.ERROR).message == "Client is not authorized to subscribe"


def test_a_large_frame_before_authentication_closes_the_connection(broker: EmbeddedBroker) -> None:
    client = stranger(broker)
    client.send((5 * 1024 * 1024).to_bytes(4, "big"))
    assert client.is_closed()


def test_a_silent_connection_is_closed_in_time() -> None:
    with EmbeddedBroker(config=config(timeout_seconds=0.2)) as broker:
        assert stranger(broker).is_closed(5.0)


def test_an_address_has_a_limited_number_of_connections_that_have_not_authenticated() -> None:
    with EmbeddedBroker(config=config(max_unauthenticated=2)) as broker:
        waiting = [stranger(broker) for _ in range(2)]
        assert stranger(broker).expect(BaseCommand.ERROR).error
        waiting[0].socket.close()
        wait_until(lambda: len(connections(broker)) < 2, 5.0)
        assert raw(broker, ADMIN)


def test_clients_without_credentials_have_the_anonymous_role() -> None:
    with EmbeddedBroker(config=config(anonymous_role="producer")) as broker:
        prepare(broker)
        client = stranger(broker)
        client.send(client_commands.connect("raw"))
        client.expect(BaseCommand.CONNECTED)
        new_producer(client, PLAIN)
        client.expect(BaseCommand.PRODUCER_SUCCESS)
        assert handshake(broker, auth_method_name="token", auth_data=b"wrong").type == BaseCommand.ERROR
        assert ask(broker, "GET", f"namespaces/{NAMESPACE}/topics", role="").status == 200


def test_a_request_can_be_required_to_name_its_method() -> None:
    with EmbeddedBroker(config=config(strict_method=True)) as broker:
        assert ask(broker, "GET", "tenants").status == 401
        for method, status in (("token", 200), ("basic", 401)):
            assert ask(broker, "GET", "tenants", X_Pulsar_Auth_Method_Name=method).status == status


def test_the_configuration_over_rest_shows_no_secret(broker: EmbeddedBroker) -> None:
    shown = ask(broker, "GET", "brokers/configuration/runtime")
    assert shown.json["tokenSecretKey"] == "******"
    assert "MDEyMzQ1" not in shown.text
