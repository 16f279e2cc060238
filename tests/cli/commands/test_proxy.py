"""`proxy` as a process: what it reports, and how it stops."""

import json
import signal
import socket
import urllib.request
from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.cli.program import Program, run
from tests.cli.runner import Cli

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
