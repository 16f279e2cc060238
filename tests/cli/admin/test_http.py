"""Errors of the admin API: a broker that cannot be reached, refuses, or answers unexpectedly."""

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pulsarctl.admin.http import AdminHttp
from pulsarctl.settings.settings import Settings
from tests.support.condition import wait_until
from tests.support.http_stub import HttpStub, Reply, Request
from tests.support.runner import Cli, Outcome

TENANTS = Reply(200, ["public"])
LISTED = Outcome(0, "public\n", "")


def test_a_refused_connection_exits_with_5_and_names_the_source_of_the_url(cli_alone: Cli) -> None:
    assert cli_alone("tenants", "list", "--admin-url", "http://127.0.0.1:1") == Outcome(
        5,
        "",
        "error: cannot reach the broker at http://127.0.0.1:1 (URL from --admin-url): Connection refused\n"
        "hint: start a broker with 'pulsarctl standalone', or choose another one with --admin-url URL\n",
    )


def test_a_port_that_does_not_speak_http_is_reported(cli_alone: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)

        answering = threading.Thread(target=hang_up, daemon=True)
        answering.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        outcome = cli_alone("tenants", "list", "--admin-url", url)
        answering.join(10)
    assert outcome.exit_code == 5
    assert outcome.stderr.startswith(
        f"error: no answer to GET {url}/admin/v2/tenants (URL from --admin-url): it closed the connection; is this"
    )


def test_an_unknown_host_exits_with_5(cli_alone: Cli) -> None:
    outcome = cli_alone("tenants", "list", "--admin-url", "http://no-such-host.invalid:8080")
    assert (outcome.exit_code, "unknown host name" in outcome.stderr) == (5, True)


def test_a_warning_of_the_broker_is_printed_once_the_request_is_carried_out(cli_alone: Cli) -> None:
    headers = {"Warning": '299 - "the \\"list\\" lacks it"'}
    with HttpStub(lambda request: Reply(204, None, headers)) as stub:
        outcome = cli_alone("namespaces", "set-clusters", "a/b", "-c", "far", "--admin-url", stub.url)
    assert outcome == Outcome(0, "", 'warning: the "list" lacks it\n')


@pytest.mark.parametrize("header", ['110 - "stale"', "299", '299 - "cut', ""])
def test_a_warning_of_another_kind_is_not_printed(cli_alone: Cli, header: str) -> None:
    with HttpStub(lambda request: Reply(200, ["public"], {"Warning": header})) as stub:
        assert cli_alone("tenants", "list", "--admin-url", stub.url) == LISTED


@pytest.mark.parametrize("location", ["http://[x/", "http://x:99999/", "ftp://x/", "http://x y/"])
def test_a_redirect_to_an_invalid_url_exits_with_5(cli_alone: Cli, location: str) -> None:
    with HttpStub(lambda request: Reply(307, None, {"Location": location})) as stub:
        outcome = cli_alone("tenants", "list", "--admin-url", stub.url)
        problem = f"error: {stub.url} redirects to '{location}', which is not an admin URL\n"
    assert (outcome.exit_code, outcome.stderr) == (5, problem)


NO_HOSTS = [
    "http://[",
    "http://[::1",
    "http://x:99999",
    "http://x:abc",
    "http://x y",
    "http://..",
    f"http://{'x' * 64}",
]


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://x", "http://", *NO_HOSTS, "http://x\x1b", "http://x\u202e"])
def test_an_invalid_url_exits_with_2(cli_alone: Cli, url: str) -> None:
    outcome = cli_alone("tenants", "list", "--admin-url", url)
    assert (outcome.exit_code, outcome.stderr.startswith(f"error: '{url}' is not an admin URL")) == (2, True)


def test_errors_are_json_objects_when_the_output_is_json(cli_alone: Cli) -> None:
    with HttpStub(lambda request: Reply(409, {"reason": "Tenant already exist"})) as stub:
        url = f"{stub.url}/admin/v2/tenants/a"
        outcome = cli_alone("tenants", "create", "a", "-c", "x", "--admin-url", stub.url, "-o", "json")
    assert (outcome.exit_code, outcome.stdout) == (6, "")
    assert json.loads(outcome.stderr) == {
        "error": f"Tenant already exist (409 for PUT {url}, URL from --admin-url)",
        "code": "conflict",
        "status": 409,
        "reason": "Tenant already exist",
        "request": f"PUT {url}",
    }


@pytest.mark.parametrize(
    ("status", "exit_code"), [(400, 1), (401, 4), (403, 4), (404, 3), (405, 1), (409, 6), (412, 6), (422, 1), (500, 1)]
)
def test_the_status_decides_the_exit_code(cli_alone: Cli, status: int, exit_code: int) -> None:
    with HttpStub(lambda request: Reply(status, {"reason": "because"})) as stub:
        outcome = cli_alone("tenants", "list", "--admin-url", stub.url)
    assert (outcome.exit_code, outcome.stdout) == (exit_code, "")
    assert outcome.stderr.startswith(f"error: because ({status} for GET ")


def test_a_stack_trace_becomes_its_first_line(cli_alone: Cli) -> None:
    with HttpStub(lambda request: Reply(500, "java.lang.Oops: no\n\tat a.b.c\n")) as stub:
        outcome = cli_alone("tenants", "list", "--admin-url", stub.url)
    assert outcome.stderr.startswith("error: java.lang.Oops: no (500 for GET ")


def test_an_empty_error_body_becomes_the_status(cli_alone: Cli) -> None:
    with HttpStub(lambda request: Reply(503)) as stub:
        outcome = cli_alone("tenants", "list", "--admin-url", stub.url)
    assert outcome.stderr.startswith("error: Service Unavailable (503 for GET ")


def test_a_redirect_is_followed_with_its_body(cli_alone: Cli) -> None:
    with HttpStub(lambda request: Reply(204)) as owner:

        def elsewhere(request: Request) -> Reply:
            return Reply(307, headers={"Location": f"{owner.url}{request.path}?authoritative=true"})

        with HttpStub(elsewhere) as first:
            outcome = cli_alone("tenants", "create", "a", "-c", "x", "--admin-url", first.url)
        request = owner.requests[0]
    assert outcome == Outcome(0, "", "")
    assert (request.method, request.path) == ("PUT", "/admin/v2/tenants/a?authoritative=true")
    assert json.loads(request.body) == {"adminRoles": [], "allowedClusters": ["x"]}


def test_an_endless_chain_of_redirects_is_given_up(cli_alone: Cli) -> None:
    with HttpStub(lambda request: Reply(307, headers={"Location": request.path})) as stub:
        outcome = cli_alone("tenants", "list", "--admin-url", stub.url)
    assert (outcome.exit_code, outcome.stderr.startswith("error: Temporary Redirect (307")) == (1, True)


def test_one_connection_serves_several_requests(cli_alone: Cli) -> None:
    with HttpStub(lambda request: Reply(200, {"partitions": 0}) if request.method == "GET" else Reply(204)) as stub:
        assert cli_alone("topics", "delete", "a", "--yes", "--admin-url", stub.url).exit_code == 0
        assert (len(stub.requests), stub.connections) == (2, 1)


def test_a_connection_closed_by_the_broker_is_reopened(cli_alone: Cli) -> None:
    closing = {"Connection": "close"}
    with HttpStub(lambda request: Reply(200, {"partitions": 0}, closing)) as stub:
        assert cli_alone("topics", "delete", "a", "b", "--yes", "--admin-url", stub.url).exit_code == 0
        assert stub.connections == 4


def test_a_change_is_not_lost_on_a_connection_that_the_broker_closed_while_it_was_idle() -> None:
    """A request that changes something is never sent twice, so it must not go to a closed connection."""
    with HttpStub(lambda request: Reply(204, hangs_up=True)) as stub:
        with contextlib.closing(AdminHttp(Settings(web_url=stub.url))) as admin:
            for number in range(3):
                admin.put(f"/{number}")
                wait_until(lambda: stub.closed == len(stub.requests), 10)
        assert [request.path for request in stub.requests] == ["/0", "/1", "/2"]


def test_the_first_address_that_answers_is_used(cli_alone: Cli) -> None:
    with HttpStub(lambda request: TENANTS) as stub:
        both = f"http://127.0.0.1:1,{stub.url.removeprefix('http://')}"
        assert cli_alone("tenants", "list", "--admin-url", both) == LISTED


def test_a_broker_that_never_answers_exits_with_7(cli_alone: Cli) -> None:
    with silent_server() as url:
        outcome = cli_alone("tenants", "list", "--admin-url", url, "--request-timeout", "50ms")
    assert outcome == Outcome(
        7,
        "",
        f"error: no answer within 0.05 s: GET {url}/admin/v2/tenants\nhint: wait longer with --request-timeout\n",
    )


def test_a_broker_that_disconnects_exits_with_5(cli_alone: Cli) -> None:
    with silent_server(hang_up=True) as url:
        assert cli_alone("tenants", "list", "--admin-url", url).exit_code == 5


@pytest.mark.parametrize(
    ("flags", "header"),
    [
        (["--quiet", "--token", "abc"], "Bearer abc"),
        (["--token-file", "{file}"], "Bearer from-file"),
        (["--quiet", "--auth-params", "token:xyz"], "Bearer xyz"),
        (
            [
                "--auth-plugin",
                "org.apache.pulsar.client.impl.auth.AuthenticationToken",
                "--quiet",
                "--auth-params",
                "file://{file}",
            ],
            "Bearer from-file",
        ),
        (
            [
                "--auth-plugin",
                "org.apache.pulsar.client.impl.auth.AuthenticationBasic",
                "--quiet",
                "--auth-params",
                '{"userId":"a","password":"b"}',
            ],
            "Basic YTpi",
        ),
        ([], None),
    ],
)
def test_credentials_become_the_authorization_header(
    cli_alone: Cli, tmp_path: Path, flags: list[str], header: str | None
) -> None:
    (tmp_path / "token").write_text("from-file\n")
    given = [flag.replace("{file}", str(tmp_path / "token")) for flag in flags]
    with HttpStub(lambda request: TENANTS) as stub:
        assert cli_alone("tenants", "list", "--admin-url", stub.url, *given) == LISTED
        assert stub.requests[0].headers.get("Authorization") == header


def test_a_token_that_cannot_be_read_exits_with_2(cli_alone: Cli) -> None:
    with HttpStub(lambda request: TENANTS) as stub:
        outcome = cli_alone("tenants", "list", "--admin-url", stub.url, "--token-file", "/nix/token")
    assert outcome == Outcome(2, "", "error: cannot read the token file /nix/token: No such file or directory\n")


def test_verbose_says_where_each_address_came_from(cli_alone: Cli) -> None:
    with HttpStub(lambda request: TENANTS) as stub:
        outcome = cli_alone("--verbose", "tenants", "list", "--admin-url", stub.url)
    assert outcome.stdout == "public\n"
    assert outcome.stderr.startswith(
        f"web_url {stub.url} from --admin-url\nservice_url pulsar://localhost:6650 from the default\n"
    )


@contextmanager
def silent_server(*, hang_up: bool = False) -> Iterator[str]:
    """Accepts connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        kept: list[socket.socket] = []

        def accept() -> None:
            connection, _ = listener.accept()
            if hang_up:
                connection.close()
            kept.append(connection)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()
        for connection in kept:
            connection.close()
