"""Every command and every route, for every kind of client: allowed or denied, by one table.

The routes and commands come from the tables of the broker. One without a row here fails the test.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.admin.call import Call
from broker_core.admin.guard import Guard
from broker_core.admin.routes import Route
from broker_core.errors import Forbidden, NotFound, Unauthorized
from broker_core.security.authorization import UnknownOperation
from broker_core.security.operations import Kind, Operation
from broker_core.security.principal import Principal
from broker_core.server.command_table import COMMANDS
from broker_core.testing import EmbeddedBroker
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand, ServerError
from tests.broker.security.who import (
    CLIENTS,
    COMMAND_NEEDS,
    CONSUME,
    CONSUME_ON_TOPIC,
    OPEN_COMMANDS,
    ROUTES,
    TENANT,
    WHO,
    expected,
    parts,
    row,
    sample,
    title,
)
from tests.support.secured import NAMESPACE, PARTED, PLAIN, ask, config, prepare, raw, token


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=config()) as found:
        prepare(found)
        assert ask(found, "POST", f"namespaces/{NAMESPACE}/permissions/taker", ["consume"]).status == 204
        roles = ["grantee", "taker"]
        assert ask(found, "POST", f"namespaces/{NAMESPACE}/permissions/subscription/taken", roles).status == 204
        yield found


def allowed(broker: EmbeddedBroker, route: Route, client: Principal | None, **values: str) -> bool:
    call: Any = Call(broker.broker, parts(route, **values), {}, b"", {}, None, principal=client)  # type: ignore[arg-type]  # no body
    try:
        Guard(broker.broker.security, [route]).check(route, call)
    except (Unauthorized, Forbidden, NotFound):
        return False
    return True


@pytest.mark.parametrize("topic", ["plain", "parted", "parted-partition-1"])
def test_every_route_admits_exactly_the_clients_of_its_row(broker: EmbeddedBroker, topic: str) -> None:
    wrong = []
    for route in ROUTES:
        for name, client in CLIENTS.items():
            if allowed(broker, route, client, topic=topic) != (name in expected(route)):
                wrong.append(f"{title(route)}: {name}")
    assert wrong == []


def test_a_subscription_of_other_roles_is_closed_to_consumers_on_every_route(broker: EmbeddedBroker) -> None:
    wrong = []
    for route in ROUTES:
        if "subscription" not in parts(route) or WHO[row(route.operation)] not in (CONSUME, CONSUME_ON_TOPIC):
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


@pytest.mark.parametrize("role", ["nothing", "topic-consumer"])
def test_without_a_permission_every_route_answers_as_if_the_namespace_did_not_exist(
    broker: EmbeddedBroker, role: str
) -> None:
    for name in ("open", "taken"):
        ask(broker, "PUT", f"namespaces/acme/{name}")
    assert ask(broker, "POST", "namespaces/acme/taken/permissions/subscription/s", ["grantee"]).status == 204
    assert ask(broker, "POST", "namespaces/acme/taken/subscriptionAuthMode", "Prefix").status == 204
    wrong = []
    for route in ROUTES:
        if "namespace" not in parts(route):
            continue
        answers = set()
        for name in ("open", "taken", "none"):
            filled = parts(route, number="1", count="1", namespace=name, subscription="s")
            path = "/".join(filled[part[1:-1]] if part.startswith("{") else part for part in route.path.split("/"))
            answer = ask(broker, route.method, path, role=role)
            answers.add((answer.status, answer.text.replace(f"/{name}", "/NAME")))
        if len(answers) > 1:
            wrong.append((title(route), answers))
    assert wrong == []


@pytest.mark.parametrize("kind", sorted(COMMAND_NEEDS))
def test_without_a_permission_every_command_answers_as_if_the_namespace_did_not_exist(
    broker: EmbeddedBroker, kind: str
) -> None:
    answers = []
    for namespace in (NAMESPACE, "acme/none"):
        connection = raw(broker, "nothing")
        connection.send(frame(sample(kind, f"persistent://{namespace}/plain")))
        answers.append(str(connection.expect_any()).replace(namespace, "NAME"))
        connection.close()
    assert answers[0] == answers[1]


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
