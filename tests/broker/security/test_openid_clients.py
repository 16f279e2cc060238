"""Official clients with tokens of an OpenID Connect issuer, on the wire and over REST."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pulsar
import pytest

from broker_core.config.openid import OpenIdConfig
from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.condition import wait_until
from tests.support.local_issuer import AUDIENCE, CLIENT, CLIENT_SECRET, DISCOVERY, LocalIssuer
from tests.support.secured import NAMESPACE, PLAIN, ask, config, prepare, stranger

PROVIDERS = "AuthenticationProviderToken,org.apache.pulsar.broker.authentication.oidc.AuthenticationProviderOpenID"


@pytest.fixture(scope="module")
def issuer() -> Iterator[LocalIssuer]:
    with LocalIssuer() as found:
        yield found


@pytest.fixture(scope="module")
def broker(issuer: LocalIssuer) -> Iterator[EmbeddedBroker]:
    openid = OpenIdConfig(
        issuers=issuer.url, audiences=AUDIENCE, require_https=False, miss_seconds=0, read_timeout_ms=1_000
    )
    with EmbeddedBroker(config=config(providers=PROVIDERS, refresh_seconds=0.2).replace(openid=openid)) as found:
        prepare(found)
        actions = ["produce", "consume"]
        assert ask(found, "POST", f"namespaces/{NAMESPACE}/permissions/{CLIENT}", actions).status == 204
        yield found


def client(broker: EmbeddedBroker, issuer: LocalIssuer, secret: str = CLIENT_SECRET) -> pulsar.Client:
    given = {"issuer_url": issuer.url, "client_id": CLIENT, "client_secret": secret, "audience": AUDIENCE}
    authentication = pulsar.AuthenticationOauth2(json.dumps(given))
    return pulsar.Client(broker.service_url, authentication=authentication, operation_timeout_seconds=10)


def status(broker: EmbeddedBroker, token: str) -> int:
    return ask(broker, "GET", f"namespaces/{NAMESPACE}/topics", role="", Authorization=f"Bearer {token}").status


def connect(broker: EmbeddedBroker, token: str) -> Any:
    """What a CONNECT with a token is answered with."""
    raw = stranger(broker)
    raw.send(client_commands.connect("raw", auth_method_name="token", auth_data=token.encode()))
    return raw.next()


def test_the_official_client_publishes_and_consumes_with_client_credentials(
    broker: EmbeddedBroker, issuer: LocalIssuer
) -> None:
    with closing(client(broker, issuer)) as official:
        consumer = official.subscribe(PLAIN, "official")
        official.create_producer(PLAIN).send(b"hello")
        assert consumer.receive(5000).data() == b"hello"


def test_a_wrong_client_secret_is_an_authentication_error(broker: EmbeddedBroker, issuer: LocalIssuer) -> None:
    with closing(client(broker, issuer, "wrong")) as official, pytest.raises(pulsar.AuthenticationError):
        official.create_producer(PLAIN)


def test_a_token_for_another_service_gives_the_official_client_its_error_at_once(
    broker: EmbeddedBroker, issuer: LocalIssuer
) -> None:
    token = issuer.token(CLIENT, aud="elsewhere")
    official = pulsar.Client(broker.service_url, authentication=pulsar.AuthenticationToken(token))
    started = time.monotonic()
    with closing(official), pytest.raises(pulsar.AuthenticationError):
        official.create_producer(PLAIN)
    assert time.monotonic() - started < 10


def test_rest_takes_the_token_of_the_issuer(broker: EmbeddedBroker, issuer: LocalIssuer) -> None:
    assert status(broker, issuer.token(CLIENT)) == 200
    assert status(broker, issuer.token(CLIENT, aud="elsewhere")) == 401
    assert status(broker, issuer.token("unknown")) == 403


def test_a_client_connects_with_a_new_key_of_the_issuer(broker: EmbeddedBroker, issuer: LocalIssuer) -> None:
    old = issuer.token(CLIENT)
    assert connect(broker, old).type == BaseCommand.CONNECTED
    issuer.rotate()
    assert connect(broker, issuer.token(CLIENT)).type == BaseCommand.CONNECTED
    assert connect(broker, old).type == BaseCommand.ERROR
    with closing(client(broker, issuer)) as official:
        official.create_producer(PLAIN).send(b"after the rotation")


def test_a_client_with_an_expired_token_gets_a_new_one_from_the_issuer(
    broker: EmbeddedBroker, issuer: LocalIssuer
) -> None:
    with closing(client(broker, issuer)) as official:
        before = issuer.requests.count("/oauth/token")
        issuer.lifetime = 1
        producer = official.create_producer(PLAIN)
        issuer.lifetime = 600
        wait_until(lambda: issuer.requests.count("/oauth/token") >= before + 2, 10)
        producer.send(b"after the refresh")
        assert len(ask(broker, "GET", f"persistent/{NAMESPACE}/plain/stats").json["publishers"]) == 1


def test_other_clients_are_served_while_the_issuer_hangs(broker: EmbeddedBroker, issuer: LocalIssuer) -> None:
    issuer.rotate()
    issuer.open.clear()
    try:
        waiting = stranger(broker)
        data = issuer.token(CLIENT).encode()
        before = len(issuer.requests)
        waiting.send(client_commands.connect("raw", auth_method_name="token", auth_data=data))
        wait_until(lambda: len(issuer.requests) > before, 10)
        assert issuer.requests[-1] == DISCOVERY
        assert ask(broker, "GET", f"namespaces/{NAMESPACE}/topics").status == 200
    finally:
        issuer.open.set()
    waiting.expect(BaseCommand.CONNECTED)
