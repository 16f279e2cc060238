"""What `make authorization` explains: each entry is about something that exists, and the docs name it."""

from pathlib import Path

from broker_core.admin.all_routes import all_routes
from broker_core.admin.routes import Match
from tests.broker.admin.pulsar_endpoints import ENDPOINTS
from tests.broker.security.who import CLIENTS, COMMAND_NEEDS, ROUTES, title
from tests.long.real_pulsar.authorization import compared
from tests.long.real_pulsar.authorization_differences import DIFFERENCES, INVALID_FIRST, NOT_ASKED, NOT_SERVED

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "security.md"
BESIDE_THE_API = {"GET /metrics", "GET /status.html"}  # Pulsar serves them, too
KNOWN = {title(route) for route in ROUTES} | set(COMMAND_NEEDS)


def test_each_explanation_is_about_a_route_or_a_command() -> None:
    named = {request for one in DIFFERENCES for request in one.requests}
    assert named | NOT_SERVED | set(NOT_ASKED) | set(INVALID_FIRST) <= KNOWN


def test_each_difference_is_about_a_known_client() -> None:
    assert {client for one in DIFFERENCES for client in one.clients} <= set(CLIENTS)


def test_no_explanation_is_about_a_route_that_is_not_compared() -> None:
    left_out = {title(route) for route in ROUTES if not compared(route)}
    assert left_out.isdisjoint({request for one in DIFFERENCES for request in one.requests} | set(INVALID_FIRST))


def test_a_route_is_compared_only_if_pulsar_serves_it() -> None:
    routes = all_routes()
    found = [routes.find(method, path) for method, path in ENDPOINTS]
    served = {title(match.route) for match in found if isinstance(match, Match)} | BESIDE_THE_API
    assert {title(route) for route in ROUTES if compared(route)} <= served


def test_the_docs_name_each_difference_in_who_passes() -> None:
    table = PAGE.read_text(encoding="utf-8").partition(
        "Gaps in the authorization of Pulsar 4.0 that this broker closes:"
    )[2]
    rows = {line.split("|")[1].strip() for line in table.splitlines() if line.startswith("|")}
    assert {one.operation for one in DIFFERENCES} <= rows
