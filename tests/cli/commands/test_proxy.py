"""`proxy` as a process: what it reports, and how it stops."""

import json
import signal
import socket
import urllib.error
import urllib.request
from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.support.program import Program, run
from tests.support.runner import Cli

FREE = ("--port", "0", "--http-port", "0", "--print-urls", "json")


def test_a_proxy_serves_until_sigterm(tmp_path: Path, pulsar_broker: EmbeddedBroker) -> None:
    addresses = ("--brokers", pulsar_broker.service_url, "--brokers-web", pulsar_broker.http_url)
    ready = tmp_path / "ready"
    with Program(tmp_path, "proxy", *FREE, *addresses, "--ready-file", str(ready)) as program:
        urls = json.loads(program.read_lines(1)[0])
        assert json.loads(ready.read_text()) == urls
        client = pulsar.Client(urls["service_url"], logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
        client.create_producer("t").send(b"x")
        with urllib.request.urlopen(f"{urls['http_url']}/status.html", timeout=10) as answer:
            assert answer.read() == b"OK"
        client.close()
        program.send(signal.SIGTERM)
        assert program.finish() == 0
    assert f"proxy at {urls['service_url']}".encode() in program.stderr
    assert not ready.exists()


def test_a_proxy_needs_brokers(cli_alone: Cli) -> None:
    ended = cli_alone("proxy", "--port", "0")
    assert ended.exit_code == 2
    assert "set brokerServiceURL" in ended.stderr


@pytest.mark.parametrize("url", ["http://localhost:6650", "localhost"])
def test_a_wrong_address_of_a_broker_is_refused(cli_alone: Cli, url: str) -> None:
    ended = cli_alone("proxy", "--port", "0", "--http-port", "0", "--brokers", url)
    assert ended.exit_code == 2
    assert "brokerServiceURL must be pulsar://HOST:PORT" in ended.stderr


def test_a_port_in_use_is_reported(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = run(tmp_path, "proxy", "--brokers", "pulsar://localhost:1", "--port", port, "--http-port", "0")
    assert ended.exit_code == 1
    assert f"port {port} is in use" in ended.stderr and "--port 0" in ended.stderr


def test_a_proxy_without_an_admin_api_announces_none(tmp_path: Path) -> None:
    with Program(tmp_path, "proxy", *FREE, "--brokers", "pulsar://localhost:1") as program:
        url = json.loads(program.read_lines(1)[0])["http_url"]
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{url}/admin/v2/clusters", timeout=10)
        assert "started without --brokers-web" in refused.value.read().decode()
        program.send(signal.SIGTERM)
        program.finish()
    assert b"admin API at" not in program.stderr
    assert f"metrics at {url}/metrics".encode() in program.stderr


@pytest.mark.parametrize(
    ("brokers", "web"),
    [("pulsar://localhost:1", "https://localhost:2"), ("pulsar+ssl://localhost:1", "http://localhost:2")],
)
def test_urls_of_brokers_must_both_be_tls_or_neither(cli_alone: Cli, brokers: str, web: str) -> None:
    ended = cli_alone("proxy", "--port", "0", "--http-port", "0", "--brokers", brokers, "--brokers-web", web)
    assert ended.exit_code == 2
    assert f"cannot use --brokers {brokers} with --brokers-web {web}: only one of them is TLS" in ended.stderr


def test_produce_through_a_proxy_without_a_broker_names_the_reason(tmp_path: Path) -> None:
    with Program(tmp_path, "proxy", *FREE, "--brokers", "pulsar://localhost:1") as program:
        url = json.loads(program.read_lines(1)[0])["service_url"]
        ended = run(tmp_path, "--service-url", url, "produce", "t", "-m", "x")
        program.send(signal.SIGTERM)
        program.finish()
    assert ended.exit_code == 5
    assert "cannot reach the broker at localhost:1: Connection refused" in ended.stderr
