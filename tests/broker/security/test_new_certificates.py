"""Another certificate, key, and authority while a hundred clients are connected."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import shutil
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from broker_core.config.tls import TlsConfig
from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands, commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.authority import Authority
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.secured import ADMIN, config

CONNECTIONS, REQUESTS = 80, 20
PROVIDERS = "AuthenticationProviderToken,AuthenticationProviderTls"
DEADLINE_SECONDS = 30.0  # the broker looks once a second


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("old"))


@pytest.fixture
def files(tmp_path: Path, old: Authority) -> TlsConfig:
    install(old, tmp_path)
    names = {"certificate_file": "server.pem", "key_file": "server.key", "trust_file": "ca.pem"}
    given: dict[str, Any] = {field: str(tmp_path / name) for field, name in names.items()}
    return TlsConfig(broker_port=0, web_port=0, refresh_seconds=1, **given)


@pytest.fixture
def broker(files: TlsConfig) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=dataclasses.replace(config(providers=PROVIDERS), tls=files)) as found:
        yield found


def install(authority: Authority, folder: Path) -> None:
    """One file after the other, as an administrator does it."""
    for file in (*authority.issue("server"), authority.file):
        shutil.copy(file, folder / file.name)


def context(authority: Authority) -> ssl.SSLContext:
    """The TLS context of a client with the role `admin`."""
    found = ssl.create_default_context(cafile=str(authority.file))
    found.load_cert_chain(*authority.issue("client", ADMIN))
    return found


def connect(broker: EmbeddedBroker, trusting: ssl.SSLContext) -> RawClient:
    client = RawClient(broker.broker.service_url_tls, handshake=False, context=trusting)
    client.send(client_commands.connect("raw", auth_method_name="tls"))
    client.expect(BaseCommand.CONNECTED)
    return client


def serial(client: RawClient) -> int:
    assert isinstance(client.socket, ssl.SSLSocket)
    return x509.load_der_x509_certificate(client.socket.getpeercert(True) or b"").serial_number


def is_served(client: RawClient) -> bool:
    client.send(commands.ping())
    return bool(client.expect(BaseCommand.PONG).IsInitialized())


def test_a_hundred_connections_stay_and_new_ones_get_the_new_certificate(
    broker: EmbeddedBroker, files: TlsConfig, old: Authority, tmp_path: Path
) -> None:
    trusting_old = context(old)
    with contextlib.ExitStack() as opened:
        clients = [opened.enter_context(contextlib.closing(connect(broker, trusting_old))) for _ in range(CONNECTIONS)]
        port = int(broker.broker.http_url_tls.rpartition(":")[2])
        requests = [http.client.HTTPSConnection("localhost", port, context=trusting_old) for _ in range(REQUESTS)]
        sockets = [ask(opened.enter_context(contextlib.closing(one))) for one in requests]

        new = Authority(tmp_path / "new")
        install(new, Path(files.trust_file).parent)
        trusting_new = context(new)
        wait_until(lambda: is_accepted(broker, trusting_new), DEADLINE_SECONDS)

        assert all(is_served(one) for one in clients)
        assert [ask(one) for one in requests] == sockets
        assert not is_accepted(broker, trusting_old)
        with contextlib.closing(connect(broker, trusting_new)) as later:
            assert serial(later) != serial(clients[0])


def ask(connection: http.client.HTTPSConnection) -> object:
    """One request; returns the socket that it used."""
    connection.request("GET", "/admin/v2/tenants")
    response = connection.getresponse()
    assert response.status == 200
    response.read()
    return connection.sock


def is_accepted(broker: EmbeddedBroker, trusting: ssl.SSLContext) -> bool:
    try:
        connect(broker, trusting).close()
    except OSError:
        return False
    return True
