"""The official client with TLS and every method of authentication; `test_methods` in tests/cli/auth is about REST."""

from __future__ import annotations

import json
import ssl
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pulsar
import pytest

from tests.clients.conftest import TIMEOUT_MS
from tests.clients.secured_broker import PASSWORD, Secured, secured_broker, secured_proxy
from tests.support.condition import wait_until
from tests.support.local_issuer import AUDIENCE
from tests.support.secured import token

pytestmark = pytest.mark.feature("security")

METHODS = ("token", "certificate", "basic", "oauth2")
AT_ONCE_SECONDS = 20  # the operation timeout is 30 s
QUIET = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured_broker(tmp_path_factory.mktemp("secured")) as found:
        yield found


@pytest.fixture(scope="module")
def proxy(broker: Secured) -> Iterator[Secured]:
    with secured_proxy(broker, broker.folder / "proxy.log") as found:
        yield found


@pytest.fixture(params=["broker", "proxy"])
def either(request: pytest.FixtureRequest) -> Secured:
    found: Secured = request.getfixturevalue(request.param)
    return found


def client(secured: Secured, authentication: Any, url: str = "", *, seconds: int = 30) -> pulsar.Client:
    return pulsar.Client(
        url or secured.service_url,
        authentication=authentication,
        tls_trust_certs_file_path=secured.trust_file,
        tls_validate_hostname=True,
        operation_timeout_seconds=seconds,
        logger=QUIET,
    )


def good(folder: Path, method: str) -> Any:
    return {
        "token": lambda: pulsar.AuthenticationToken(token("admin")),
        "certificate": lambda: _certificate(folder, "client"),
        "basic": lambda: pulsar.AuthenticationBasic("admin", PASSWORD),
        "oauth2": lambda: _oauth2(folder, "oauth.json"),
    }[method]()


def wrong(folder: Path, method: str) -> Any:
    made: dict[str, Callable[[], Any]] = {
        "token": lambda: pulsar.AuthenticationToken(token("admin")[:-4] + "AAAA"),
        "certificate": lambda: _certificate(folder, "two"),
        "basic": lambda: pulsar.AuthenticationBasic("admin", "guessed"),
        "oauth2": lambda: _oauth2(folder, "wrong-oauth.json"),
        "nothing": lambda: None,
    }
    return made[method]()


def _certificate(folder: Path, name: str) -> Any:
    return pulsar.AuthenticationTLS(str(folder / f"{name}.pem"), str(folder / f"{name}.key"))


def _oauth2(folder: Path, name: str) -> Any:
    file = folder / name
    issuer = json.loads(file.read_text(encoding="utf-8"))["issuer_url"]
    given = {"issuer_url": issuer, "private_key": f"file://{file}", "audience": AUDIENCE}
    return pulsar.AuthenticationOauth2(json.dumps(given))


@pytest.mark.parametrize("method", METHODS)
def test_each_method_publishes_consumes_and_reads(either: Secured, method: str, topic: str) -> None:
    for url in (either.service_url, either.admin_url):
        with closing(client(either, good(either.folder, method), url)) as official:
            consumer = official.subscribe(topic, "s")
            reader = official.create_reader(topic, pulsar.MessageId.latest)
            official.create_producer(topic).send(b"hello")
            assert consumer.receive(TIMEOUT_MS).data() == b"hello"
            assert reader.read_next(TIMEOUT_MS).data() == b"hello"


@pytest.mark.parametrize("method", [*METHODS, "nothing"])
def test_wrong_credentials_are_an_authentication_error_at_once(either: Secured, method: str, topic: str) -> None:
    started = time.monotonic()
    with closing(client(either, wrong(either.folder, method))) as official, pytest.raises(pulsar.AuthenticationError):
        official.create_producer(topic)
    assert time.monotonic() - started < AT_ONCE_SECONDS


def test_a_certificate_of_another_authority_connects_nowhere(either: Secured, topic: str) -> None:
    """TLS ends the connection. This client takes that for a lost one, and retries until its timeout."""
    forged = _certificate(either.folder, "forged")
    with closing(client(either, forged, seconds=1)) as official, pytest.raises(pulsar.PulsarException):
        official.create_producer(topic)


def test_a_client_trusts_no_other_authority(broker: Secured, topic: str) -> None:
    official = pulsar.Client(
        broker.service_url,
        authentication=good(broker.folder, "token"),
        tls_trust_certs_file_path=str(broker.folder / "other.pem"),
        logger=QUIET,
    )
    with closing(official), pytest.raises(pulsar.ConnectError):
        official.create_producer(topic)


class Tokens:
    """Supplies tokens of which the first two expire within two seconds."""

    def __init__(self) -> None:
        self.supplied = 0

    def __call__(self) -> str:
        self.supplied += 1
        return token("admin", exp=int(time.time()) + (2 if self.supplied <= 2 else 600))


def test_a_renewed_token_keeps_the_connection(broker: Secured, topic: str) -> None:
    tokens = Tokens()
    with closing(client(broker, pulsar.AuthenticationToken(tokens))) as official:
        consumer = official.subscribe(topic, "s")
        producer = official.create_producer(topic)
        before = address_of_producer(broker, topic)
        wait_until(lambda: tokens.supplied > 2, 30)
        producer.send(b"renewed")
        assert consumer.receive(TIMEOUT_MS).data() == b"renewed"
        assert address_of_producer(broker, topic) == before


def test_a_client_behind_a_proxy_outlives_its_token(proxy: Secured, topic: str) -> None:
    tokens = Tokens()
    with closing(client(proxy, pulsar.AuthenticationToken(tokens))) as official:
        consumer = official.subscribe(topic, "s")
        producer = official.create_producer(topic)
        wait_until(lambda: tokens.supplied > 2, 30)
        producer.send(b"renewed")
        assert consumer.receive(TIMEOUT_MS).data() == b"renewed"


def address_of_producer(secured: Secured, topic: str) -> str:
    url = f"{secured.admin_url}/admin/v2/{topic.replace('://', '/')}/stats"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {secured.token}"})
    with urllib.request.urlopen(
        request, timeout=30, context=ssl.create_default_context(cafile=secured.trust_file)
    ) as answer:
        (publisher,) = json.load(answer)["publishers"]
    return str(publisher["address"])
