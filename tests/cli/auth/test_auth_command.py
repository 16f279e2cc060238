"""`auth whoami` and `auth can`, on the bundled broker and on one without its endpoints, as an Apache Pulsar is."""

import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_core.testing import EmbeddedBroker
from tests.cli.auth.conftest import Run
from tests.cli.auth.secured_cluster import Credentials
from tests.support.http_stub import HttpStub, Reply, Request
from tests.support.runner import Cli, Outcome
from tests.support.secured import NAMESPACE, PARTED, PLAIN, token

QUESTIONS = [
    ("admin", "administrate", "*", True, "superUserRoles"),
    ("owner", "create-tenant", "*", False, "role owner is not in superUserRoles"),
    ("owner", "create-namespace", "acme", True, "role owner is an admin of the tenant acme"),
    ("stranger", "administrate", "acme", False, "role stranger is not an admin of the tenant acme"),
    ("owner", "policies", NAMESPACE, True, "role owner is an admin of the tenant acme"),
    ("producer", "produce", PLAIN, True, f"permission of role producer on {NAMESPACE}"),
    ("producer", "consume", PLAIN, False, f"role producer has no permission to consume on {PLAIN}"),
    ("topic-producer", "produce", "acme/shop/plain", True, f"permission of role topic-producer on {PLAIN}"),
    ("topic-consumer", "consume", f"{PARTED}-partition-1", True, f"permission of role topic-consumer on {PARTED}"),
    ("topic-consumer", "get-topics", NAMESPACE, False, "has no permission to consume or produce on acme/shop"),
    ("consumer", "TERMINATE", PLAIN, False, "role consumer is not an admin of the tenant acme"),
    (
        "nothing",
        "lookup",
        "persistent://none/such/topic",
        False,
        "has no permission to consume or produce on persistent://none/such/topic",
    ),
]


def as_role(secured: Run, role: str, *words: str) -> Outcome:
    return secured(*words, "--token", token(role), "-o", "json")


@pytest.fixture
def pulsar(broker: EmbeddedBroker) -> Iterator[HttpStub]:
    """The broker without the endpoints that Pulsar does not have."""
    port = int(broker.http_url.rpartition(":")[2])

    def forward(request: Request) -> Reply:
        if request.path.startswith("/admin/v2/auth/"):
            return Reply(404, "<title>Error 404 Not Found</title>")
        connection = http.client.HTTPConnection("localhost", port, timeout=10)
        connection.request(request.method, request.path, None, request.headers | {"Host": "localhost"})
        response = connection.getresponse()
        body = response.read().decode()
        connection.close()
        return Reply(response.status, body)

    with HttpStub(forward) as stub:
        yield stub


@pytest.fixture
def on_pulsar(tmp_path: Path, pulsar: HttpStub) -> Callable[..., Outcome]:
    cli = Cli(tmp_path, pulsar.url)

    def run(role: str, *words: str) -> Outcome:
        return cli(*words, "--token", token(role), "-o", "json")

    return run


@pytest.mark.parametrize(("role", "action", "resource", "allowed", "rule"), QUESTIONS)
def test_the_broker_and_the_permissions_of_a_pulsar_give_the_same_answer(
    secured: Run, on_pulsar: Callable[..., Outcome], role: str, action: str, resource: str, allowed: bool, rule: str
) -> None:
    words = ("auth", "can", role, action, resource)
    for outcome in (as_role(secured, "admin", *words), on_pulsar("admin", *words)):
        found = json.loads(outcome.stdout)
        assert (outcome.exit_code, found["allowed"]) == (0 if allowed else 1, allowed)
        assert rule in found["rule"]


def test_what_the_caller_may_not_read_leaves_the_answer_open(on_pulsar: Callable[..., Outcome]) -> None:
    outcome = on_pulsar("owner", "auth", "can", "producer", "consume", PLAIN)
    assert (outcome.exit_code, json.loads(outcome.stdout)["allowed"]) == (1, None)
    assert json.loads(outcome.stdout)["rule"] == "you may not read superUserRoles"


def test_permissions_that_the_caller_may_read_suffice_for_a_yes(on_pulsar: Callable[..., Outcome]) -> None:
    outcome = on_pulsar("owner", "auth", "can", "producer", "produce", PLAIN)
    assert (outcome.exit_code, json.loads(outcome.stdout)["allowed"]) == (0, True)


def test_every_role_may_ask_about_itself_and_no_other(secured: Run) -> None:
    assert as_role(secured, "producer", "auth", "can", "producer", "produce", PLAIN).exit_code == 0
    refused = as_role(secured, "producer", "auth", "can", "consumer", "consume", PLAIN)
    assert (refused.exit_code, "may not ask about the role consumer" in refused.stderr) == (4, True)


def test_a_tenant_admin_may_ask_about_the_tenant_only(secured: Run) -> None:
    assert as_role(secured, "owner", "auth", "can", "producer", "produce", PLAIN).exit_code == 0
    assert as_role(secured, "owner", "auth", "can", "producer", "create-topic", "other/ns").exit_code == 4
    assert as_role(secured, "owner", "auth", "can", "producer", "administrate", "*").exit_code == 4


@pytest.mark.parametrize(
    ("action", "resource", "problem"),
    [
        ("fly", PLAIN, "there is no action fly on a topic; use one of administrate, compact, consume"),
        ("produce", NAMESPACE, "there is no action produce on a namespace; use one of add-bundle, administrate"),
        ("produce", "a/b/c/d/e/f", "Invalid short topic name"),
    ],
)
def test_an_unknown_action_is_refused_with_those_that_exist(
    secured: Run, on_pulsar: Callable[..., Outcome], action: str, resource: str, problem: str
) -> None:
    for outcome in (
        as_role(secured, "admin", "auth", "can", "producer", action, resource),
        on_pulsar("admin", "auth", "can", "producer", action, resource),
    ):
        assert (outcome.exit_code, problem in outcome.stderr) == (2, True)


@pytest.mark.parametrize("method", ["token", "password", "certificate", "oauth2"])
def test_whoami_is_what_the_broker_says(secured: Run, credentials: Credentials, method: str) -> None:
    found: dict[str, Any] = json.loads(secured("auth", "whoami", "-o", "json", *credentials.options(method)).stdout)
    assert (found["role"], found["superUser"], found["decidedBy"]) == ("admin", True, "the broker")


@pytest.mark.parametrize(("role", "is_super"), [("admin", True), ("owner", False)])
def test_whoami_on_a_pulsar_is_what_the_accepted_token_says(
    on_pulsar: Callable[..., Outcome], role: str, is_super: bool
) -> None:
    found = json.loads(on_pulsar(role, "auth", "whoami").stdout)
    assert (found["method"], found["role"], found["superUser"]) == ("token", role, is_super)


def test_whoami_with_a_refused_token_is_an_authentication_error(on_pulsar: Callable[..., Outcome]) -> None:
    outcome = on_pulsar("admin", "auth", "whoami", "--token-file", "/dev/null")
    assert outcome.exit_code == 2


def test_a_broker_without_authentication_says_so(cli: Cli) -> None:
    found = json.loads(cli("auth", "whoami", "-o", "json").stdout)
    assert (found["authentication"], found["role"], found["superUser"]) == (False, None, True)
    assert cli("auth", "can", "anyone", "produce", "public/default/t").exit_code == 0
