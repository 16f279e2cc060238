"""What `make authorization` explains: each entry is about something that exists, and the docs name it."""

from pathlib import Path

from tests.broker_core.security.who import CLIENTS, COMMAND_NEEDS, ROUTES, title
from tests.real_pulsar.authorization import compared
from tests.real_pulsar.authorization_differences import DIFFERENCES, INVALID_FIRST, NOT_ASKED, NOT_SERVED

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
KNOWN = {title(route) for route in ROUTES} | set(COMMAND_NEEDS)


def test_each_explanation_is_about_a_route_or_a_command() -> None:
    named = {request for one in DIFFERENCES for request in one.requests}
    assert named | NOT_SERVED | set(NOT_ASKED) | set(INVALID_FIRST) <= KNOWN


def test_each_difference_is_about_a_known_client() -> None:
    assert {client for one in DIFFERENCES for client in one.clients} <= set(CLIENTS)


def test_no_explanation_is_about_a_route_that_is_not_compared() -> None:
    left_out = {title(route) for route in ROUTES if not compared(route)}
    assert left_out.isdisjoint({request for one in DIFFERENCES for request in one.requests} | set(INVALID_FIRST))


def test_the_docs_name_each_difference_in_who_passes() -> None:
    table = PAGE.read_text(encoding="utf-8").partition(
        "Gaps in the authorization of Pulsar 4.0 that this broker closes:"
    )[2]
    rows = {line.split("|")[1].strip() for line in table.splitlines() if line.startswith("|")}
    assert {one.operation for one in DIFFERENCES} <= rows
