"""Every endpoint of Pulsar 4.0.7 has a route, and the routes say who may use them.

`pulsar_endpoints.txt` lists the endpoints of Pulsar's resource classes: method and path.
"""

import re

import pytest

from broker_core.admin.all_routes import all_routes
from broker_core.admin.other_services import ROUTES as OTHER_SERVICES
from broker_core.admin.routes import Match, Route
from broker_core.security.operations import Kind
from tests.broker.admin.conftest import Admin
from tests.broker.admin.pulsar_endpoints import ENDPOINTS

ROUTES = all_routes()
TOPIC_OPERATIONS = {
    "MIGRATE_TO_SCALABLE",  # since Pulsar 5.0
    "LOOKUP",
    "GET_STATS",
    "GET_METADATA",
    "PRODUCE",
    "CONSUME",
    "SUBSCRIBE",
    "UNSUBSCRIBE",
    "SKIP",
    "EXPIRE_MESSAGES",
    "PEEK_MESSAGES",
    "RESET_CURSOR",
    "GET_SUBSCRIPTIONS",
    "GET_BACKLOG_SIZE",
    "SET_REPLICATED_SUBSCRIPTION_STATUS",
    "GET_REPLICATED_SUBSCRIPTION_STATUS",
    "TERMINATE",
    "COMPACT",
    "OFFLOAD",
    "UNLOAD",
    "TRIM_TOPIC",
    "UPDATE_METADATA",
    "DELETE_METADATA",
}
NAMESPACE_OPERATIONS = {
    "GET_TOPIC",
    "GET_TOPICS",
    "GET_BUNDLE",
    "UNSUBSCRIBE",
    "CLEAR_BACKLOG",
    "TRIM_TOPIC",
    "PACKAGES",
    "CREATE_TOPIC",
    "DELETE_TOPIC",
    "ADD_BUNDLE",
    "DELETE_BUNDLE",
    "GRANT_PERMISSION",
    "GET_PERMISSION",
    "REVOKE_PERMISSION",
}


def test_the_list_is_complete() -> None:
    assert len(ENDPOINTS) == 650


def test_every_endpoint_of_pulsar_has_a_route() -> None:
    missing = [f"{method} {path}" for method, path in ENDPOINTS if not isinstance(ROUTES.find(method, path), Match)]
    assert missing == []


def test_no_literal_of_a_path_is_taken_for_a_variable() -> None:
    for method, path in ENDPOINTS:
        found = ROUTES.find(method, path)
        assert isinstance(found, Match)
        ours = _literals(found.route.path)
        assert [one for one in _literals(path) if one in ours or one not in DOMAINS] == ours, f"{method} {path}"


DOMAINS = {"persistent", "non-persistent"}


def _literals(path: str) -> list[str]:
    return [segment for segment in path.split("/") if segment and not segment.startswith("{")]


@pytest.mark.parametrize("route", OTHER_SERVICES[::9], ids=lambda route: f"{route.method} {route.path}")
async def test_a_service_that_is_not_here_answers_501_with_what_to_do(admin: Admin, route: Route) -> None:
    reply = await admin(route.method, re.sub(r"{\w+}", "x", route.path))
    assert reply.status == 501
    assert re.match(r"this broker .*: .* use .*", reply.reason)


def test_the_operations_of_namespaces_and_topics_are_pulsars() -> None:
    """A typo in the table would be a hole once permissions are enforced."""
    for kind, known in ((Kind.TOPIC, TOPIC_OPERATIONS), (Kind.NAMESPACE, NAMESPACE_OPERATIONS)):
        assert {route.operation.name for route in ROUTES.listed if route.operation.kind is kind} <= known
