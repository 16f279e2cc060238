"""Errors for a service URL that does not lead to a broker."""

import socket
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from broker_core.testing import EmbeddedBroker
from broker_core.wire.frame import Command, FrameDecoder
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from pulsarctl.auth.authentication import authentication_of
from pulsarctl.client.connect_frame import connect_frame
from pulsarctl.client.reachability import check_answers
from pulsarctl.output.next_steps import after_no_answer, is_of_use
from pulsarctl.settings.settings import Settings
from tests.support.http_stub import HttpStub, Reply
from tests.support.program import run
from tests.support.runner import Cli, Outcome

HINT = "hint: check the address, or choose another broker with --url URL\n"
WORDS = pytest.mark.parametrize("words", [["produce", "t", "-m", "x"], ["consume", "t", "-e"]])


def failed(url: str, reason: str, exit_code: int = 5) -> Outcome:
    return Outcome(exit_code, "", f"error: cannot connect to {url} (from --url): {reason}\n{HINT}")


@WORDS
def test_the_port_of_the_admin_api_is_recognized_at_once(
    cli_alone: Cli, pulsar_broker: EmbeddedBroker, words: list[str]
) -> None:
    url = f"pulsar://127.0.0.1:{urlsplit(pulsar_broker.http_url).port}"
    asked = time.monotonic()
    assert cli_alone(*words, "--url", url) == failed(
        url, "a web server answered; is this the port of the binary protocol?"
    )
    assert time.monotonic() - asked < 5


@pytest.mark.parametrize(
    "words", [["produce", "t", "-m", "x", "--timeout", "500ms"], ["consume", "t", "-e", "--connect-timeout", "500ms"]]
)
def test_a_silent_server_times_out(cli_alone: Cli, words: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"pulsar://127.0.0.1:{listener.getsockname()[1]}"
        outcome = cli_alone(*words, "--url", url)
    assert outcome == failed(url, "it accepts connections but does not answer", exit_code=7)


def test_an_error_page_without_a_header_is_recognized_as_http(cli_alone: Cli) -> None:
    with HttpStub(lambda request: Reply()) as stub:
        url = stub.url.replace("http", "pulsar")
        outcome = cli_alone("produce", "t", "-m", "x", "--url", url)
    assert outcome == failed(url, "a web server answered; is this the port of the binary protocol?")


@WORDS
def test_a_port_that_disconnects_is_not_a_broker(cli_alone: Cli, words: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"pulsar://127.0.0.1:{listener.getsockname()[1]}"
        listener.settimeout(20)

        def hang_up() -> None:
            connection, _ = listener.accept()
            connection.recv(1024)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        outcome = cli_alone(*words, "--url", url)
        thread.join()
    assert outcome == failed(
        url, "it closed the connection; is this the port of the binary protocol, and is the scheme of the URL right?"
    )


def test_one_broker_among_several_addresses_is_enough(pulsar_broker: EmbeddedBroker) -> None:
    web, broker = (urlsplit(url).netloc for url in (pulsar_broker.http_url, pulsar_broker.service_url))
    check_answers(Settings(service_url=f"pulsar://{web},{broker}"), 20)


@pytest.mark.parametrize("token", [None, "short", "long" * 5000])
def test_the_first_frame_is_connect(token: str | None) -> None:
    (command,) = FrameDecoder(1 << 20).feed(connect_frame(authentication_of(Settings(token=token))))
    assert isinstance(command, Command) and command.type == BaseCommand.CONNECT
    found = command.message
    assert (found.client_version, found.protocol_version) == ("pulsarctl", 19)
    assert (found.auth_method_name, found.auth_data) == (("token", token.encode()) if token else ("", b""))


@WORDS
@pytest.mark.parametrize(
    ("scheme", "port", "reason"),
    [
        ("http", "binary", "not a web server; is this the port of the admin API?"),
        ("https", "binary", "it does not answer in TLS"),
        ("https", "web", "it does not answer in TLS"),
        ("pulsar+ssl", "binary", "it does not answer in TLS"),
        ("pulsar+ssl", "web", "it does not answer in TLS"),
    ],
)
def test_a_scheme_that_does_not_match_the_port_is_one_line_of_error(
    tmp_path: Path, pulsar_broker: EmbeddedBroker, words: list[str], scheme: str, port: str, reason: str
) -> None:
    address = pulsar_broker.service_url if port == "binary" else pulsar_broker.http_url
    url = f"{scheme}://127.0.0.1:{urlsplit(address).port}"
    ended = run(tmp_path, *words, "--url", url)
    assert Outcome(ended.exit_code, ended.stdout.decode(), ended.stderr) == failed(url, reason)


@pytest.mark.parametrize(
    ("host", "hint"),
    [
        ("localhost", "start a broker with 'pulsarctl standalone', or choose another one with --url URL"),
        ("pulsar.invalid", "check the address, or choose another broker with --url URL"),
    ],
)
def test_a_hint_to_start_a_broker_is_only_for_this_machine(host: str, hint: str) -> None:
    assert after_no_answer([host], "--url", connected=False) == hint


@pytest.mark.parametrize(
    ("hint", "words", "useful"),
    [
        ("list what exists: pulsarctl tenants list", ["tenants", "list", "-o", "json"], False),
        ("list what exists: pulsarctl tenants list", ["tenants", "get", "x"], True),
        ("confirm with --yes", ["topics", "delete"], True),
    ],
)
def test_a_hint_never_repeats_the_command_that_failed(hint: str, words: list[str], useful: bool) -> None:
    assert is_of_use(hint, words) is useful


@pytest.mark.parametrize("host", ["[", "[::1", "x:99999", "x:abc", "x y", "..", "x" * 64, "x\x1b:1", "x\u202e", ""])
def test_a_service_url_with_an_invalid_host_exits_with_2(cli_alone: Cli, host: str) -> None:
    outcome = cli_alone("produce", "t", "-m", "x", "--url", f"pulsar://{host}")
    assert (outcome.exit_code, outcome.stderr.startswith(f"error: 'pulsar://{host}' is not a service URL: ")) == (
        2,
        True,
    )
