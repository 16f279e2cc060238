"""Every command and every route, for every kind of client: allowed or denied, by one table.

The routes and commands come from the tables of the broker. One without a row here fails the test.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.admin.all_routes import all_routes
from broker_core.admin.call import Call
from broker_core.admin.guard import Guard
from broker_core.admin.routes import Route
from broker_core.errors import Forbidden, TenantNotFound, Unauthorized
from broker_core.security.authorization import UnknownOperation
from broker_core.security.operations import Kind, Operation
from broker_core.security.principal import Principal
from broker_core.server.command_table import COMMANDS
from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandProducer, ServerError
from tests.broker_core.security.secured import NAMESPACE, PARTED, PLAIN, ask, config, prepare, raw, token

CLIENTS = {
    "no role": None,
    "nothing": Principal("nothing"),
    "producer": Principal("producer"),
    "consumer": Principal("consumer"),
    "topic-producer": Principal("topic-producer"),
    "topic-consumer": Principal("topic-consumer"),
    "grantee": Principal("grantee"),
    "consumer and grantee": Principal("taker"),
    "owner": Principal("owner"),
    "stranger": Principal("stranger"),
    "admin": Principal("admin"),
    "proxy": Principal("proxy"),
    "proxy for producer": Principal("proxy", "producer"),
    "proxy for consumer": Principal("proxy", "consumer"),
    "proxy for owner": Principal("proxy", "owner"),
    "proxy for admin": Principal("proxy", "admin"),
    "proxy for itself": Principal("proxy", "proxy"),
    "producer as admin": Principal("producer", "admin"),
}
SUPER = {"admin"}
TENANT = {"owner", *SUPER}
ON_NAMESPACE = {
    "produce": {"producer", "proxy for producer"},
    "consume": {"consumer", "consumer and grantee", "proxy for consumer"},
}
# Through the proxy an admin has what the proxy itself may do: its permissions on the namespace.
THROUGH_PROXY = {"proxy for owner", "proxy for admin"}
ON_TOPIC = {
    "produce": ON_NAMESPACE["produce"] | {"topic-producer"},
    "consume": ON_NAMESPACE["consume"] | {"topic-consumer"},
}
EVERYONE = set(CLIENTS)

_EITHER_ON_TOPIC = TENANT | THROUGH_PROXY | ON_TOPIC["produce"] | ON_TOPIC["consume"]
_PRODUCE_ON_TOPIC = TENANT | THROUGH_PROXY | ON_TOPIC["produce"]
_CONSUME_ON_TOPIC = TENANT | THROUGH_PROXY | ON_TOPIC["consume"]
_EITHER = TENANT | THROUGH_PROXY | ON_NAMESPACE["produce"] | ON_NAMESPACE["consume"]
_CONSUME = TENANT | THROUGH_PROXY | ON_NAMESPACE["consume"]

# Who passes, by kind or by kind and operation: the tables "TopicOperation", "NamespaceOperation", and "TenantOperation"
# of Pulsar's AuthorizationProvider.
WHO: dict[str, set[str]] = {
    "anyone": EVERYONE,
    "superUser": SUPER,
    "broker": SUPER,
    "cluster": SUPER,
    "clusterPolicy": SUPER,
    "tenantAdmin": TENANT,
    "namespacePolicy": TENANT,
    "topicPolicy": TENANT,
    "tenant:LIST_TENANTS": SUPER,
    "tenant:CREATE_TENANT": SUPER,
    "tenant:GET_TENANT": TENANT,
    "tenant:UPDATE_TENANT": TENANT,
    "tenant:DELETE_TENANT": TENANT,
    "tenant:LIST_NAMESPACES": TENANT,
    "tenant:CREATE_NAMESPACE": TENANT,
    "tenant:DELETE_NAMESPACE": TENANT,
    "namespace:GET_TOPICS": _EITHER,
    "namespace:GET_BUNDLE": _EITHER,
    "namespace:CLEAR_BACKLOG": _CONSUME,
    "namespace:UNSUBSCRIBE": _CONSUME,
    "namespace:GET_PERMISSION": TENANT,
    "namespace:GRANT_PERMISSION": TENANT,
    "namespace:REVOKE_PERMISSION": TENANT,
    "namespace:CREATE_TOPIC": TENANT,
    "namespace:DELETE_TOPIC": TENANT,
    "namespace:DELETE_BUNDLE": TENANT,
    "topic:LOOKUP": _EITHER_ON_TOPIC,
    "topic:GET_STATS": _EITHER_ON_TOPIC,
    "topic:GET_METADATA": _EITHER_ON_TOPIC,
    "topic:PRODUCE": _PRODUCE_ON_TOPIC,
    "topic:CONSUME": _CONSUME_ON_TOPIC,
    "topic:SUBSCRIBE": _CONSUME_ON_TOPIC,
    "topic:UNSUBSCRIBE": _CONSUME_ON_TOPIC,
    "topic:SKIP": _CONSUME_ON_TOPIC,
    "topic:EXPIRE_MESSAGES": _CONSUME_ON_TOPIC,
    "topic:PEEK_MESSAGES": _CONSUME_ON_TOPIC,
    "topic:RESET_CURSOR": _CONSUME_ON_TOPIC,
    "topic:GET_SUBSCRIPTIONS": _CONSUME_ON_TOPIC,
    "topic:GET_BACKLOG_SIZE": _CONSUME_ON_TOPIC,
    "topic:SET_REPLICATED_SUBSCRIPTION_STATUS": _CONSUME_ON_TOPIC,
    "topic:GET_REPLICATED_SUBSCRIPTION_STATUS": _CONSUME_ON_TOPIC,
    "topic:TERMINATE": TENANT,
    "topic:COMPACT": TENANT,
    "topic:OFFLOAD": TENANT,
    "topic:UNLOAD": TENANT,
    "topic:TRIM_TOPIC": TENANT,
    "topic:UPDATE_METADATA": TENANT,
    "topic:DELETE_METADATA": TENANT,
}
# Routes that name no tenant in their path: only superusers pass.
WITHOUT_TENANT = {
    "/admin/v2/namespaces/{cluster}/antiAffinity/{group}",
    "/admin/v2/namespaces/grantPermissionsOnTopics",
    "/admin/v2/namespaces/revokePermissionsOnTopics",
}
OPEN_COMMANDS = {
    "CONNECT",
    "AUTH_RESPONSE",
    "PING",
    "PONG",
    "WATCH_TOPIC_LIST_CLOSE",
    "CLOSE_PRODUCER",
    "FLOW",
    "ACK",
    "REDELIVER_UNACKNOWLEDGED_MESSAGES",
    "SEEK",
    "GET_LAST_MESSAGE_ID",
    "CONSUMER_STATS",
    "UNSUBSCRIBE",
    "CLOSE_CONSUMER",
}
COMMAND_NEEDS = {
    "LOOKUP": "topic:LOOKUP",
    "PARTITIONED_METADATA": "topic:LOOKUP",
    "GET_TOPICS_OF_NAMESPACE": "namespace:GET_TOPICS",
    "WATCH_TOPIC_LIST": "namespace:GET_TOPICS",
    "PRODUCER": "topic:PRODUCE",
    "SUBSCRIBE": "topic:CONSUME",
    "GET_SCHEMA": "topic:GET_METADATA",
    "GET_OR_CREATE_SCHEMA": "topic:PRODUCE",
}
VALUES = {"tenant": "acme", "namespace": "shop", "topic": "plain", "domain": "persistent", "subscription": "sub"}


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=config()) as found:
        prepare(found)
        assert ask(found, "POST", f"namespaces/{NAMESPACE}/permissions/taker", ["consume"]).status == 204
        roles = ["grantee", "taker"]
        assert ask(found, "POST", f"namespaces/{NAMESPACE}/permissions/subscription/taken", roles).status == 204
        yield found


def row(operation: Operation) -> str:
    named = operation.kind in (Kind.TOPIC, Kind.NAMESPACE, Kind.TENANT)
    return str(operation) if named else operation.kind.value


def parts(route: Route, **values: str) -> dict[str, str]:
    names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    return {name: {**VALUES, **values}.get(name, "x") for name in names}


def allowed(broker: EmbeddedBroker, route: Route, client: Principal | None, **values: str) -> bool:
    call: Any = Call(broker.broker, parts(route, **values), {}, b"", {}, None, principal=client)  # type: ignore[arg-type]  # no body
    try:
        Guard(broker.broker.security, [route]).check(route, call)
    except (Unauthorized, Forbidden, TenantNotFound):
        return False
    return True


def title(route: Route) -> str:
    return f"{route.method} {route.path}"


ROUTES = all_routes().listed


@pytest.mark.parametrize("topic", ["plain", "parted", "parted-partition-1"])
def test_every_route_admits_exactly_the_clients_of_its_row(broker: EmbeddedBroker, topic: str) -> None:
    wrong = []
    for route in ROUTES:
        who = SUPER if route.path in WITHOUT_TENANT else WHO[row(route.operation)]
        # Without a subscription in the path it acts on all of them, also on the one of another role.
        every = route.operation.name in ("CLEAR_BACKLOG", "EXPIRE_MESSAGES") and "subscription" not in parts(route)
        expected = who & {*TENANT, "consumer and grantee"} if every else who
        for name, client in CLIENTS.items():
            if allowed(broker, route, client, topic=topic) != (name in expected):
                wrong.append(f"{title(route)}: {name}")
    assert wrong == []


def test_a_subscription_of_other_roles_is_closed_to_consumers_on_every_route(broker: EmbeddedBroker) -> None:
    wrong = []
    for route in ROUTES:
        if "subscription" not in parts(route) or WHO[row(route.operation)] not in (_CONSUME, _CONSUME_ON_TOPIC):
            continue
        for name, client in CLIENTS.items():
            if allowed(broker, route, client, subscription="taken") != (name in {*TENANT, "consumer and grantee"}):
                wrong.append(f"{title(route)}: {name}")
    assert wrong == []


@pytest.mark.parametrize("values", [{"tenant": "other"}, {"namespace": "elsewhere"}, {"domain": "non-persistent"}])
def test_permissions_end_at_the_names_that_they_were_given_for(broker: EmbeddedBroker, values: dict[str, str]) -> None:
    names = ["topic-producer", "topic-consumer"]
    names += [] if "domain" in values else ["producer", "consumer"]
    wrong = [
        f"{title(route)}: {name}"
        for route in ROUTES
        for name in names
        if route.operation.kind is not Kind.ANYONE and set(values) <= set(parts(route))
        if allowed(broker, route, CLIENTS[name], **values)
    ]
    assert wrong == []


def test_no_route_answers_a_client_without_credentials_or_permission(broker: EmbeddedBroker) -> None:
    """Over HTTP: nothing goes past the guard."""
    port = int(broker.http_url.rpartition(":")[2])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    wrong = []
    for route in ROUTES:
        filled = parts(route, number="1", count="1")
        path = "/".join(filled[part[1:-1]] if part.startswith("{") else part for part in route.path.split("/"))
        for headers in ({}, {"Authorization": f"Bearer {token('nothing')}"}):
            connection.request(route.method, path, None, headers)
            response = connection.getresponse()
            response.read()
            public = route.path in ("/metrics", "/status.html") or (headers and route.operation.kind is Kind.ANYONE)
            refused = {401, 403} if headers else {401}
            if (response.status in refused) == bool(public):
                wrong.append((title(route), bool(headers), response.status))
    connection.close()
    assert wrong == []


def sample(kind: str, topic: str) -> BaseCommand:
    number = BaseCommand.Type.Value(kind)
    made = {
        "LOOKUP": client_commands.lookup(1, topic),
        "PARTITIONED_METADATA": client_commands.partitioned_metadata(1, topic),
        "GET_TOPICS_OF_NAMESPACE": client_commands.topics_of_namespace(1, NAMESPACE),
        "SUBSCRIBE": client_commands.subscribe(1, topic, "sub", 1, sub_type=1),
    }.get(kind)
    if made is not None:
        return BaseCommand.FromString(made[8:])
    command = BaseCommand(type=number)
    if kind == "WATCH_TOPIC_LIST":
        body = command.watchTopicList
        body.request_id = body.watcher_id = 1
        body.namespace, body.topics_pattern = NAMESPACE, ".*"
    elif kind == "PRODUCER":
        command.producer.CopyFrom(CommandProducer(topic=topic, producer_id=1, request_id=1))
    elif kind == "GET_SCHEMA":
        command.getSchema.request_id, command.getSchema.topic = 1, topic
    else:
        command.getOrCreateSchema.request_id, command.getOrCreateSchema.topic = 1, topic
        command.getOrCreateSchema.schema.name, command.getOrCreateSchema.schema.schema_data = "", b""
        command.getOrCreateSchema.schema.type = 0  # type: ignore[assignment]  # enum fields take plain numbers
    return command


def test_every_command_has_a_row() -> None:
    numbers: dict[int, str] = {number: name for name, number in BaseCommand.Type.items()}
    known = {numbers[kind]: one.need for kind, one in COMMANDS.items()}
    assert {name for name, need in known.items() if need.requests is None} == OPEN_COMMANDS
    assert {name for name, need in known.items() if need.requests is not None} == set(COMMAND_NEEDS)
    assert all(need.reason or need.denial for need in known.values())


@pytest.mark.parametrize("topic", [PLAIN, f"{PARTED}-partition-0"])
@pytest.mark.parametrize("kind", sorted(COMMAND_NEEDS))
def test_every_command_admits_exactly_the_clients_of_its_row(broker: EmbeddedBroker, kind: str, topic: str) -> None:
    wrong = []
    for name, client in CLIENTS.items():
        if client is None or broker.broker.security.authorization is None:
            continue
        if broker.broker.security.authorization.check_principal(client):
            continue  # refused at CONNECT: test_connections
        connection = raw(broker, client.role, original=client.original)
        connection.send(frame(sample(kind, topic)))
        answer = connection.expect_any()
        error = getattr(answer, "error", None) if has_error(answer) else getattr(answer, "error_code", None)
        denied = error == ServerError.AuthorizationError
        if denied == (name in WHO[COMMAND_NEEDS[kind]]):
            wrong.append((name, answer))
        connection.socket.close()
    assert wrong == []


def has_error(answer: Any) -> bool:
    return "error" in answer.DESCRIPTOR.fields_by_name


@pytest.mark.parametrize("local", ["__change_events", "__transaction_buffer_snapshot", "__mine"])
def test_topics_of_the_broker_need_more_than_a_permission(broker: EmbeddedBroker, local: str) -> None:
    topic = f"persistent://{NAMESPACE}/{local}"
    for role, kind, denied in (
        ("producer", "PRODUCER", True),
        ("owner", "PRODUCER", True),
        ("consumer", "SUBSCRIBE", True),
        ("admin", "PRODUCER", False),
        ("owner", "SUBSCRIBE", False),
    ):
        connection = raw(broker, role)
        connection.send(frame(sample(kind, topic)))
        answer = connection.expect_any()
        error = answer.error if has_error(answer) else None
        assert (error == ServerError.AuthorizationError) is denied, (role, kind)


def test_a_broker_does_not_start_with_an_operation_that_no_rule_decides(broker: EmbeddedBroker) -> None:
    async def handler(_: Call) -> None:
        """Never called."""

    route = Route("GET", "/admin/v2/new", handler, Operation(Kind.TOPIC, "TELEPORT"))
    with pytest.raises(UnknownOperation, match="no rule says who may do topic:TELEPORT"):
        Guard(broker.broker.security, [route])
