"""TLS between clients and a proxy, and between a proxy and brokers."""

from __future__ import annotations

import dataclasses
import gc
import ssl
import threading
import urllib.request
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pulsar
import pytest

from broker_core.broker_client.addresses import Endpoint
from broker_core.config.broker import BrokerConfig
from broker_core.config.proxy import ProxyTlsConfig
from broker_core.config.tls import TlsConfig
from broker_core.errors import InvalidConfiguration
from broker_core.proxy.server import Proxy
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.authority import Authority
from tests.support.raw_client import RawClient
from tests.support.running_proxy import RunningProxy, client_of, proxy_config


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def broker(authority: Authority) -> Iterator[EmbeddedBroker]:
    certificate, key = authority.issue("broker")
    tls = TlsConfig(broker_port=0, web_port=0, certificate_file=str(certificate), key_file=str(key))
    with EmbeddedBroker(config=BrokerConfig(server=FREE_PORTS, tls=tls)) as found:
        yield found


def of_proxy(authority: Authority) -> ProxyTlsConfig:
    certificate, key = authority.issue("proxy")
    return ProxyTlsConfig(broker_port=0, web_port=0, certificate_file=str(certificate), key_file=str(key))


def to_broker(broker: EmbeddedBroker, authority: Authority) -> dict[str, Any]:
    return {
        "tls": True,
        "service_url_tls": broker.broker.service_url_tls,
        "web_url_tls": broker.broker.http_url_tls,
        "trust_file": str(authority.file),
    }


@pytest.mark.parametrize("secure_broker", [False, True])
@pytest.mark.parametrize("secure_client", [False, True])
def test_each_side_may_use_tls(
    broker: EmbeddedBroker, authority: Authority, secure_broker: bool, secure_client: bool
) -> None:
    brokers = to_broker(broker, authority) if secure_broker else {}
    config = dataclasses.replace(proxy_config(broker, **brokers), tls=of_proxy(authority))
    with RunningProxy(config) as proxy:
        url = proxy.proxy.service_url_tls if secure_client else proxy.service_url
        trust: dict[str, Any] = {"tls_trust_certs_file_path": str(authority.file), "tls_validate_hostname": True}
        client = client_of(url, **(trust if secure_client else {}))
        consumer = client.subscribe("t", f"s-{secure_broker}-{secure_client}")
        value = bytes(2_000_000)
        client.create_producer("t", compression_type=pulsar.CompressionType.NONE).send(value)
        assert consumer.receive(5_000).data() == value
        client.close()
        context = ssl.create_default_context(cafile=str(authority.file))
        web = f"{proxy.proxy.http_url_tls}/admin/v2/clusters"
        with urllib.request.urlopen(web, context=context, timeout=10) as answer:
            assert answer.status == 200


def test_a_broker_with_a_certificate_of_another_authority_is_not_trusted(
    broker: EmbeddedBroker, authority: Authority, tmp_path: Path
) -> None:
    brokers = {**to_broker(broker, authority), "trust_file": str(Authority(tmp_path, "other").file)}
    with RunningProxy(proxy_config(broker, **brokers)) as proxy:
        with pytest.raises(pulsar.PulsarException):
            client_of(proxy.service_url, seconds=2).create_producer("t")
        assert proxy.ask("GET", "/admin/v2/clusters").status == 502


@pytest.mark.parametrize(("verified", "reached"), [(True, False), (False, True)])
def test_the_host_name_of_a_broker_must_be_in_its_certificate(
    broker: EmbeddedBroker, authority: Authority, verified: bool, reached: bool
) -> None:
    brokers = to_broker(broker, authority)
    urls = {name: str(brokers[name]).replace("localhost", "other.test") for name in ("service_url_tls", "web_url_tls")}
    config = proxy_config(broker, **{**brokers, **urls, "verify_hostname": verified})
    with RunningProxy(config, resolve=to_this_machine) as proxy:
        assert (proxy.ask("GET", "/admin/v2/clusters").status != 502) is reached
        with RawClient(proxy.service_url, handshake=False) as client:
            client.send(client_commands.connect("raw"))
            client.expect(BaseCommand.CONNECTED if reached else BaseCommand.ERROR)


async def to_this_machine(_target: Endpoint) -> list[str]:
    return ["127.0.0.1"]


def test_a_client_that_leaves_takes_its_connection_to_the_broker_along(
    broker: EmbeddedBroker, authority: Authority
) -> None:
    """Without waiting for the broker's answer to the end of TLS: a proxy that stops would leave a connection open."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", ResourceWarning)
        leave_and_stop(broker, RunningProxy(proxy_config(broker, **to_broker(broker, authority))))
        gc.collect()
    assert [str(one.message) for one in found] == []


def leave_and_stop(broker: EmbeddedBroker, proxy: RunningProxy) -> None:
    client = RawClient(proxy.start().service_url)
    with silenced(broker):
        client.close()
        proxy.stop()


@contextmanager
def silenced(broker: EmbeddedBroker) -> Iterator[None]:
    """Its loop is busy, so it answers nothing."""
    begun, ended = threading.Event(), threading.Event()

    async def wait() -> None:
        begun.set()
        ended.wait(30)

    busy = threading.Thread(target=lambda: broker.call(wait()))
    busy.start()
    begun.wait(30)
    try:
        yield
    finally:
        ended.set()
        busy.join()


def test_unusable_files_are_named(broker: EmbeddedBroker, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.pem")
    brokers: dict[str, Any] = {"tls": True, "service_url_tls": "pulsar+ssl://localhost:1", "trust_file": missing}
    with pytest.raises(InvalidConfiguration, match="cannot use the TLS files for brokers"):
        Proxy(proxy_config(broker, **brokers))
