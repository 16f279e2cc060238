"""`pulsarctl proxy` in front of Apache Pulsar."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pulsar
import pytest

from tests.clients.conftest import TIMEOUT_MS
from tests.long.real_pulsar.java_pulsar import JavaPulsar
from tests.support.proxy_process import ProxyProcess

pytestmark = [pytest.mark.real_pulsar, pytest.mark.timeout(1800)]

QUIET = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)


@pytest.fixture(scope="module")
def proxy(java_pulsar: JavaPulsar, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxyProcess]:
    log = tmp_path_factory.mktemp("proxy") / "proxy.log"
    with ProxyProcess(java_pulsar.service_url, java_pulsar.http_url, log) as found:
        yield found


@pytest.fixture
def client(proxy: ProxyProcess) -> Iterator[pulsar.Client]:
    found = pulsar.Client(proxy.service_url, operation_timeout_seconds=20, logger=QUIET)
    yield found
    found.close()


def test_messages_pass_to_apache_pulsar_and_back(client: pulsar.Client) -> None:
    consumer = client.subscribe("through-proxy", "s")
    producer = client.create_producer("through-proxy", batching_enabled=True)
    values = [b"%d" % number + bytes(1_000) for number in range(1_000)]
    for value in values:
        producer.send_async(value, None)
    producer.flush()
    received = []
    for _ in values:
        message = consumer.receive(TIMEOUT_MS)
        consumer.acknowledge(message)
        received.append(message.data())
    assert received == values


def test_topics_are_managed_and_read_through_the_proxy(client: pulsar.Client, proxy: ProxyProcess) -> None:
    name = "persistent/public/default/parted-through-proxy"
    with ask(proxy, "PUT", f"/admin/v2/{name}/partitions", b"3") as answer:
        assert answer.status == 204
    assert len(client.get_topic_partitions(name.rpartition("/")[2])) == 3
    producer = client.create_producer(name.rpartition("/")[2])
    for number in range(30):
        producer.send(b"%d" % number, partition_key=str(number))
    reader = client.create_reader(name.rpartition("/")[2], pulsar.MessageId.earliest)
    assert sorted(int(reader.read_next(TIMEOUT_MS).data()) for _ in range(30)) == list(range(30))
    with ask(proxy, "GET", f"/admin/v2/{name}/partitioned-stats") as answer:
        assert json.load(answer)["msgInCounter"] == 30


def test_a_lookup_over_http_leads_through_the_proxy(proxy: ProxyProcess) -> None:
    with ask(proxy, "GET", "/lookup/v2/topic/persistent/public/default/t") as answer:
        assert json.load(answer)["brokerUrl"] == proxy.service_url
    client = pulsar.Client(proxy.http_url, operation_timeout_seconds=20, logger=QUIET)
    client.create_producer("over-http").send(b"x")
    client.close()


def ask(proxy: ProxyProcess, method: str, path: str, body: bytes | None = None) -> Any:
    headers = {"Content-Type": "application/json"} if body is not None else {}
    request = urllib.request.Request(f"{proxy.http_url}{path}", body, headers, method=method)
    return urllib.request.urlopen(request, timeout=30)
