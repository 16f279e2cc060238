"""What is said of a service URL that leads to no broker."""

import socket
import threading
import time
from urllib.parse import urlsplit

import pytest

from broker_core.testing import EmbeddedBroker
from broker_core.wire.frame import Command, FrameDecoder
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from pulsarctl.client.reachability import _connect_frame, check_answers
from tests.cli.http_stub import HttpStub, Reply
from tests.cli.runner import Cli, Outcome

HINT = "hint: start a broker with 'pulsarctl standalone', or name another one with --url URL\n"
WORDS = pytest.mark.parametrize("words", [["produce", "t", "-m", "x"], ["consume", "t", "-e"]])


def failed(url: str, reason: str, exit_code: int = 5) -> Outcome:
    return Outcome(exit_code, "", f"error: cannot connect to {url} (from --service-url): {reason}\n{HINT}")


@WORDS
def test_the_port_of_the_admin_api_is_told_at_once(
    cli_alone: Cli, pulsar_broker: EmbeddedBroker, words: list[str]
) -> None:
    url = f"pulsar://127.0.0.1:{urlsplit(pulsar_broker.http_url).port}"
    asked = time.monotonic()
    assert cli_alone(*words, "--url", url) == failed(
        url, "a web server answers: is that the port of the binary protocol?"
    )
    assert time.monotonic() - asked < 5


@WORDS
def test_a_server_that_says_nothing_is_given_up_in_time(cli_alone: Cli, words: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"pulsar://127.0.0.1:{listener.getsockname()[1]}"
        outcome = cli_alone(*words, "--url", url, "--timeout", "500ms")
    assert outcome == failed(url, "it accepts connections and says nothing", exit_code=7)


def test_an_error_page_without_a_header_is_of_a_web_server_too(cli_alone: Cli) -> None:
    with HttpStub(lambda request: Reply()) as stub:
        url = stub.url.replace("http", "pulsar")
        outcome = cli_alone("produce", "t", "-m", "x", "--url", url)
    assert outcome == failed(url, "a web server answers: is that the port of the binary protocol?")


@WORDS
def test_a_port_that_hangs_up_is_no_broker(cli_alone: Cli, words: list[str]) -> None:
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
    assert outcome == failed(url, "it hangs up: is that the port of the binary protocol?")


def test_it_is_enough_that_one_of_the_addresses_is_a_broker(pulsar_broker: EmbeddedBroker) -> None:
    web, broker = (urlsplit(url).netloc for url in (pulsar_broker.http_url, pulsar_broker.service_url))
    check_answers(f"pulsar://{web},{broker}", "here", 20, None)


@pytest.mark.parametrize("token", [None, "short", "long" * 5000])
def test_the_first_frame_is_a_connect(token: str | None) -> None:
    (command,) = FrameDecoder(1 << 20).feed(_connect_frame(token))
    assert isinstance(command, Command) and command.type == BaseCommand.CONNECT
    found = command.message
    assert (found.client_version, found.protocol_version) == ("pulsarctl", 19)
    assert (found.auth_method_name, found.auth_data) == (("token", token.encode()) if token else ("", b""))
