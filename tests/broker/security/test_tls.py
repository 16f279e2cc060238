"""TLS listeners, client certificates as roles, and new certificates while clients are connected."""

from __future__ import annotations

import dataclasses
import http.client
import json
import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pulsar
import pytest
from cryptography import x509

from broker_core.config.server import ServerConfig
from broker_core.config.tls import TlsConfig
from broker_core.errors import InvalidConfiguration
from broker_core.security.certificates import WEAK_CIPHERS, Certificates
from broker_core.testing import EmbeddedBroker
from tests.support.authority import Authority
from tests.support.condition import wait_until
from tests.support.secured import NAMESPACE, PLAIN, ask, config, prepare, token

SHA_1 = Path(__file__).with_name("sha1")  # made by OpenSSL: the library of the other certificates refuses to
BOTH = "AuthenticationProviderToken,org.apache.pulsar.broker.authentication.AuthenticationProviderTls"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


def tls_config(authority: Authority, name: str = "server", **changes: Any) -> TlsConfig:
    certificate, key = authority.issue(name)
    given = {"certificate_file": str(certificate), "key_file": str(key), "trust_file": str(authority.file)}
    return TlsConfig(**{"broker_port": 0, "web_port": 0, **given, **changes})


@pytest.fixture(scope="module")
def broker(authority: Authority) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=dataclasses.replace(config(providers=BOTH), tls=tls_config(authority))) as found:
        prepare(found)
        yield found


def client(broker: EmbeddedBroker, authority: Authority, authentication: Any, url: str = "") -> pulsar.Client:
    return pulsar.Client(
        url or broker.broker.service_url_tls,
        authentication=authentication,
        tls_trust_certs_file_path=str(authority.file),
        tls_validate_hostname=True,
        operation_timeout_seconds=5,
        logger=pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull),
    )


def by_certificate(authority: Authority, role: str) -> pulsar.AuthenticationTLS:
    certificate, key = authority.issue(f"client-{role}", role)
    return pulsar.AuthenticationTLS(str(certificate), str(key))


def trusting(authority: Authority, certificate: Path | None = None, key: Path | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(authority.file))
    if certificate is not None:
        context.load_cert_chain(certificate, key)
    return context


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def request(url: str, context: ssl.SSLContext, path: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
    connection = http.client.HTTPSConnection("localhost", port_of(url), context=context, timeout=10)
    with closing(connection):
        connection.request("GET", path, None, headers or {})
        response = connection.getresponse()
        return response.status, response.read().decode()


@pytest.mark.parametrize("web", [False, True])
def test_the_official_client_publishes_and_consumes_over_tls(
    broker: EmbeddedBroker, authority: Authority, web: bool
) -> None:
    url = broker.broker.http_url_tls if web else broker.broker.service_url_tls
    with closing(client(broker, authority, pulsar.AuthenticationToken(token("admin")), url)) as found:
        consumer = found.subscribe(PLAIN, f"tls-{web}")
        found.create_producer(PLAIN).send(b"hello")
        assert consumer.receive(5000).data() == b"hello"
        assert all(one.is_tls for one in connections(broker))


def connections(broker: EmbeddedBroker) -> list[Any]:
    return list(broker.broker.connections)


def test_a_client_certificate_is_a_role(broker: EmbeddedBroker, authority: Authority) -> None:
    with closing(client(broker, authority, by_certificate(authority, "producer"))) as found:
        found.create_producer(PLAIN).send(b"hello")
        with pytest.raises(pulsar.AuthorizationError):
            found.subscribe(PLAIN, "s")


def test_a_certificate_of_another_authority_is_no_role(
    broker: EmbeddedBroker, authority: Authority, tmp_path: Path
) -> None:
    forged = Authority(tmp_path).issue("admin")
    with pytest.raises((ssl.SSLError, OSError)):
        request(broker.broker.http_url_tls, trusting(authority, *forged), "/admin/v2/tenants")


@pytest.mark.parametrize("names", [("admin", "producer"), ("producer", "admin")])
def test_a_certificate_with_two_common_names_is_no_role(
    broker: EmbeddedBroker, authority: Authority, names: tuple[str, ...]
) -> None:
    status, _ = request(
        broker.broker.http_url_tls, trusting(authority, *authority.issue("two", *names)), "/admin/v2/tenants"
    )
    assert status == 401


def test_over_https_a_certificate_or_a_token_names_the_role(broker: EmbeddedBroker, authority: Authority) -> None:
    url = broker.broker.http_url_tls
    assert request(url, trusting(authority, *authority.issue("admin")), "/admin/v2/tenants")[0] == 200
    bearer = {"Authorization": f"Bearer {token('admin')}"}
    assert request(url, trusting(authority), "/admin/v2/tenants", bearer)[0] == 200
    assert request(url, trusting(authority), "/admin/v2/tenants")[0] == 401


def test_a_lookup_over_http_answers_the_addresses_of_both_listeners(broker: EmbeddedBroker) -> None:
    found = ask(broker, "GET", f"/lookup/v2/topic/persistent/{NAMESPACE}/plain").json
    assert found["brokerUrl"] == broker.service_url
    assert found["brokerUrlTls"] == broker.broker.service_url_tls
    assert found["httpUrlTls"] == broker.broker.http_url_tls


def test_old_protocols_and_plain_bytes_get_no_answer(broker: EmbeddedBroker, authority: Authority) -> None:
    context = trusting(authority)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    with serial(broker, context) as connection:
        assert connection.version() == "TLSv1.2"
    with socket.create_connection(("localhost", port_of(broker.broker.service_url_tls)), 10) as plain:
        plain.sendall(b"\x00\x00\x00\x04\x00\x00\x00\x00")
        answer = plain.recv(100)
        assert answer == b"" or answer[:1] == b"\x15"  # an alert of TLS


def serial(broker: EmbeddedBroker, context: ssl.SSLContext) -> ssl.SSLSocket:
    connected = socket.create_connection(("localhost", port_of(broker.broker.service_url_tls)), 10)
    return context.wrap_socket(connected, server_hostname="localhost")


def served(broker: EmbeddedBroker, authority: Authority) -> int:
    with serial(broker, trusting(authority)) as connection:
        return x509.load_der_x509_certificate(connection.getpeercert(True) or b"").serial_number


def test_new_files_count_for_new_connections_and_disturb_no_others(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    tls = tls_config(authority, refresh_seconds=0.1)
    with EmbeddedBroker(config=dataclasses.replace(config(), tls=tls)) as broker:
        prepare(broker)
        with closing(client(broker, authority, pulsar.AuthenticationToken(token("admin")))) as found:
            producer = found.create_producer(PLAIN)
            producer.send(b"before")
            known, before = connections(broker), served(broker, authority)
            authority.issue("server")
            wait_until(lambda: served(broker, authority) != before, 5.0)
            producer.send(b"after")
            assert set(known) <= set(connections(broker))
            Path(tls.key_file).write_text("no key")
            current = served(broker, authority)
            assert served(broker, authority) == current  # the last good files stay


def test_a_client_certificate_can_be_required(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    tls = tls_config(authority, require_client_certificate=True)
    with EmbeddedBroker(config=dataclasses.replace(config(), tls=tls)) as broker:
        bearer = {"Authorization": f"Bearer {token('admin')}"}
        url = broker.broker.http_url_tls
        with pytest.raises((ssl.SSLError, OSError, http.client.HTTPException)):
            request(url, trusting(authority), "/admin/v2/tenants", bearer)
        status, body = request(url, trusting(authority, *authority.issue("any")), "/admin/v2/tenants", bearer)
        assert (status, json.loads(body)) == (200, ["public", "pulsar"])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"allow_insecure": True}, "anyone can create a certificate for any role"),
        ({"certificate_file": ""}, "need tlsCertificateFilePath and tlsKeyFilePath"),
        ({"trust_file": "", "require_client_certificate": True}, "needs tlsTrustCertsFilePath"),
        ({"key_file": "/no/such/file"}, "cannot use the TLS files"),
        ({"protocols": "TLSv1.1"}, "unknown name 'TLSv1.1' in tlsProtocols"),
        ({"ciphers": "NO_SUCH"}, "cannot use the TLS files"),
    ],
)
def test_a_broker_with_unusable_tls_settings_does_not_start(
    authority: Authority, changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InvalidConfiguration, match=reason):
        Certificates(tls_config(authority, **changes))


def test_ciphers_have_the_names_of_java_or_openssl(authority: Authority) -> None:
    names = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,ECDHE-RSA-AES128-GCM-SHA256,TLS_AES_256_GCM_SHA384"
    context = Certificates(tls_config(authority, ciphers=names)).context.current
    found = {one["name"] for one in context.get_ciphers() if one["protocol"] == "TLSv1.2"}
    assert found == {"ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES128-GCM-SHA256"}


def test_a_server_name_that_is_not_ascii_leaves_no_traceback(authority: Authority) -> None:
    """It comes through `sys.unraisablehook`, which pytest makes a failure."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    hello = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        trusting(authority).wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost").do_handshake()
    to_server.write(hello.read().replace(b"localhost", b"local\xffost"))
    server = Certificates(tls_config(authority)).context.wrap_bio(to_server, to_client, server_side=True)
    with pytest.raises(ssl.SSLWantReadError):
        server.do_handshake()


def test_plain_ports_can_be_switched_off(authority: Authority) -> None:
    server = ServerConfig(broker_port=-1, web_port=-1)
    given = dataclasses.replace(config(providers=BOTH), tls=tls_config(authority), server=server)
    with EmbeddedBroker(config=given) as broker:
        assert (broker.service_url, broker.http_url) == ("", "")
        urls = broker.broker.service_url_tls, broker.broker.http_url_tls
        bearer = {"Authorization": f"Bearer {token('admin')}"}
        status, text = request(urls[1], trusting(authority), "/admin/v2/brokers/standalone", bearer)
        assert (status, json.loads(text)) == (200, [urls[1].removeprefix("https://")])
        status, text = request(urls[1], trusting(authority), "/admin/v2/clusters/standalone", bearer)
        assert {"serviceUrl", "brokerServiceUrl"}.isdisjoint(json.loads(text))
        assert (json.loads(text)["serviceUrlTls"], json.loads(text)["brokerServiceUrlTls"]) == (urls[1], urls[0])
        for url in urls:
            with closing(client(broker, authority, pulsar.AuthenticationToken(token("admin")), url)) as found:
                assert found.get_topic_partitions("persistent://public/default/t")
        status, text = request(urls[1], trusting(authority), "/lookup/v2/topic/persistent/public/default/t", bearer)
        assert {"brokerUrl", "httpUrl"}.isdisjoint(json.loads(text))


@pytest.mark.parametrize(("broker_port", "web_port"), [(-1, 0), (0, -1)])
def test_a_broker_without_any_port_does_not_start(broker_port: int, web_port: int) -> None:
    given = dataclasses.replace(config(), server=ServerConfig(broker_port=broker_port, web_port=web_port))
    with pytest.raises(InvalidConfiguration, match=r"ServicePort has no port: set \w+ServicePortTls"):
        EmbeddedBroker(config=given).start()


def test_a_certificate_with_sha_1_is_refused_with_what_to_do_and_can_be_used_at_the_users_risk() -> None:
    certificate, key = SHA_1 / "server.pem", SHA_1 / "server.key"
    given = TlsConfig(broker_port=0, certificate_file=str(certificate), key_file=str(key))
    with pytest.raises(InvalidConfiguration) as refused:
        Certificates(given)
    assert str(refused.value) == (
        f"cannot use the TLS files {certificate}, {key}: a certificate is signed with SHA-1 or MD5,"
        " which OpenSSL refuses because it can be forged; create one with an RSA key of 2048 bits or more and SHA-256,"
        " or accept the risk with tlsCiphers=DEFAULT@SECLEVEL=0"
    )
    weak = dataclasses.replace(config(), tls=dataclasses.replace(given, ciphers=WEAK_CIPHERS))
    trusting = ssl.create_default_context(cafile=str(SHA_1 / "ca.pem"))
    trusting.set_ciphers(WEAK_CIPHERS)
    with EmbeddedBroker(config=weak) as broker:
        port = int(broker.broker.service_url_tls.rpartition(":")[2])
        connected = socket.create_connection(("127.0.0.1", port))
        with connected as plain, trusting.wrap_socket(plain, server_hostname="localhost") as secured:
            assert secured.version() == "TLSv1.3"
