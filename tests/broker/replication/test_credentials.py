"""How a replicator proves who it is: the TLS and authentication settings of a cluster's record."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pulsar
import pytest
from cryptography.hazmat.primitives import serialization

from broker_core.config.security import SecurityConfig
from broker_core.config.server import ServerConfig
from broker_core.config.tls import TlsConfig
from broker_core.testing import EmbeddedBroker
from tests.broker.replication.pair import publish, received
from tests.support import official_client
from tests.support.authority import Authority
from tests.support.clusters import admin, config_of, new_namespace, replication_stats
from tests.support.condition import wait_until
from tests.support.secured import ask, config, connect, token

TOKEN_PLUGIN = "org.apache.pulsar.client.impl.auth.AuthenticationToken"
PROVIDERS = "AuthenticationProviderToken,org.apache.pulsar.broker.authentication.AuthenticationProviderTls"
NAMES = count()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def east(authority: Authority) -> Iterator[EmbeddedBroker]:
    """Takes only clients that prove who they are; the role `copier` may produce."""
    certificate, key = authority.issue("server")
    tls = TlsConfig(
        broker_port=0, web_port=0, certificate_file=str(certificate), key_file=str(key), trust_file=str(authority.file)
    )
    server = ServerConfig(broker_port=0, web_port=0, cluster_name="east")
    secured = dataclasses.replace(config(providers=PROVIDERS, super_users="admin,copier"), server=server, tls=tls)
    with EmbeddedBroker(config=secured) as running:
        yield running


@pytest.fixture(scope="module")
def west() -> Iterator[EmbeddedBroker]:
    """Has credentials of its own for clusters whose records name none."""
    security = SecurityConfig(internal_plugin=TOKEN_PLUGIN, internal_parameters=f"token:{token('copier')}")
    with EmbeddedBroker(config=config_of("west", security=security)) as running:
        yield running


@pytest.fixture(scope="module")
def of_east(east: EmbeddedBroker) -> Iterator[pulsar.Client]:
    client = connect(east, "admin", seconds=20)
    yield client
    client.close()


def plain(east: EmbeddedBroker) -> dict[str, Any]:
    return {"brokerServiceUrl": east.service_url, "serviceUrl": east.http_url}


def over_tls(east: EmbeddedBroker, authority: Authority) -> dict[str, Any]:
    return {
        "brokerServiceUrlTls": east.broker.service_url_tls,
        "serviceUrlTls": east.broker.http_url_tls,
        "brokerClientTlsEnabled": True,
        "brokerClientTrustCertsFilePath": str(authority.file),
    }


def with_token(role: str) -> dict[str, str]:
    return {"authenticationPlugin": TOKEN_PLUGIN, "authenticationParameters": json.dumps({"token": token(role)})}


def topic_towards(west: EmbeddedBroker, east: EmbeddedBroker, record: dict[str, Any]) -> str:
    """A topic in the west that is replicated to the east, which is reached as the record says."""
    known = "east" in admin(west.http_url, "GET", "clusters")
    admin(west.http_url, "POST" if known else "PUT", "clusters/east", record)
    admin(west.http_url, "POST", "tenants/public", {"allowedClusters": ["west", "east"], "adminRoles": []})
    name = f"ns{next(NAMES)}"
    if ask(east, "GET", "tenants/public").status == 404:
        ask(east, "PUT", "tenants/public", {"allowedClusters": ["east"], "adminRoles": []})
    assert ask(east, "PUT", f"namespaces/public/{name}", {}).status == 204
    return f"persistent://{new_namespace((west,), name, ['west', 'east'])}/t"


def arrives(west: EmbeddedBroker, of_east: pulsar.Client, topic: str) -> bool:
    consumer, client = of_east.subscribe(topic, "s"), official_client.connect(west.service_url)
    publish(client, topic, [b"x"])
    client.close()
    return received(consumer, 1) == [b"x"]


def test_a_token_in_the_record(west: EmbeddedBroker, east: EmbeddedBroker, of_east: pulsar.Client) -> None:
    assert arrives(west, of_east, topic_towards(west, east, {**plain(east), **with_token("copier")}))


def test_a_token_in_a_file(west: EmbeddedBroker, east: EmbeddedBroker, of_east: pulsar.Client, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{token('copier')}\n")
    credentials = {"authenticationPlugin": "token", "authenticationParameters": f"file://{tmp_path}/token"}
    assert arrives(west, of_east, topic_towards(west, east, {**plain(east), **credentials}))


def test_a_record_without_credentials_uses_those_of_the_broker(
    west: EmbeddedBroker, east: EmbeddedBroker, of_east: pulsar.Client
) -> None:
    assert arrives(west, of_east, topic_towards(west, east, plain(east)))


def test_a_token_over_tls_also_for_the_admin_api(
    west: EmbeddedBroker, east: EmbeddedBroker, authority: Authority
) -> None:
    topic = topic_towards(west, east, {**over_tls(east, authority), **with_token("copier")})
    path = topic.replace("://", "/")
    admin(west.http_url, "PUT", f"{path}/partitions", 2)
    wait_until(lambda: ask(east, "GET", f"{path}/partitions").json.get("partitions") == 2, 20)


def test_a_client_certificate(
    west: EmbeddedBroker, east: EmbeddedBroker, of_east: pulsar.Client, authority: Authority
) -> None:
    certificate, key = authority.issue("copier")
    credentials = {
        "authenticationPlugin": "org.apache.pulsar.client.impl.auth.AuthenticationTls",
        "authenticationParameters": f"tlsCertFile:{certificate},tlsKeyFile:{key}",
    }
    assert arrives(west, of_east, topic_towards(west, east, {**over_tls(east, authority), **credentials}))


def test_a_cluster_with_a_certificate_of_another_authority_is_not_trusted(
    west: EmbeddedBroker, east: EmbeddedBroker, authority: Authority, tmp_path: Path
) -> None:
    other = {"brokerClientTrustCertsFilePath": str(Authority(tmp_path, "other").file)}
    topic = topic_towards(west, east, {**over_tls(east, authority), **with_token("copier"), **other})
    admin(west.http_url, "PUT", topic.replace("://", "/"))
    wait_until(lambda: "certificate verify failed" in replication_stats(west, topic, "east")["lastError"], 10)


def test_an_encrypted_key_is_refused_without_asking_for_its_password(
    west: EmbeddedBroker, east: EmbeddedBroker, authority: Authority
) -> None:
    certificate, key = authority.issue("locked")
    protection = serialization.BestAvailableEncryption(b"secret")
    loaded = serialization.load_pem_private_key(key.read_bytes(), None)
    key.write_bytes(loaded.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, protection))
    files = {"brokerClientCertificateFilePath": str(certificate), "brokerClientKeyFilePath": str(key)}
    topic = topic_towards(west, east, {**over_tls(east, authority), **files})
    admin(west.http_url, "PUT", topic.replace("://", "/"))
    wait_until(lambda: "the private key is encrypted" in replication_stats(west, topic, "east")["lastError"], 10)


def test_a_role_without_permission_is_named_until_it_has_it(
    west: EmbeddedBroker, east: EmbeddedBroker, of_east: pulsar.Client
) -> None:
    topic = topic_towards(west, east, {**plain(east), **with_token("stranger")})
    consumer, client = of_east.subscribe(topic, "s"), official_client.connect(west.service_url)
    publish(client, topic, [b"x"])
    client.close()
    wait_until(lambda: "AuthorizationError" in replication_stats(west, topic, "east")["lastError"], 10)
    admin(west.http_url, "POST", "clusters/east", {**plain(east), **with_token("copier")})
    assert received(consumer, 1) == [b"x"]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({}, "cluster east has no brokerServiceUrl; set it with `clusters update`"),
        ({"brokerServiceUrl": "pulsar://east:x"}, "'pulsar://east:x' does not name a host and a port"),
        (
            {"brokerServiceUrl": "pulsar://e:1", "authenticationPlugin": "a.b.Sasl", "authenticationParameters": "x"},
            "cluster east: authentication plugin a.b.Sasl is not supported",
        ),
        (
            {"brokerServiceUrl": "pulsar://e:1", "authenticationPlugin": "token", "authenticationParameters": "{"},
            "cluster east: cannot use its token: its parameters cannot be read",
        ),
    ],
)
def test_a_record_that_cannot_be_used_says_why(
    west: EmbeddedBroker, east: EmbeddedBroker, record: dict[str, Any], reason: str
) -> None:
    topic = topic_towards(west, east, record)
    admin(west.http_url, "PUT", topic.replace("://", "/"))
    wait_until(lambda: replication_stats(west, topic, "east")["lastError"] == reason, 10)
