"""Users and passwords of an htpasswd file."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Iterator
from contextlib import closing

import pulsar
import pytest

from broker_core.errors import AuthenticationFailed, InvalidConfiguration
from broker_core.security.basic import BasicProvider
from broker_core.security.passwords import apr1
from broker_core.security.provider import Credentials
from broker_core.testing import EmbeddedBroker
from tests.support.secured import ADMIN, PLAIN, ask, config, prepare, setup

# Made with `openssl passwd -apr1 -salt abcdefgh` and `htpasswd -nbs`.
APR1 = "$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/"
SHA1 = "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="
# A hash of `secret` with cost 4.
BCRYPT = "$2y$04$JLUVvqWYPQX3pNEBcL8sc.WLcFtqZalUq3MekJvHq7jeZg7lputna"
BOTH = "AuthenticationProviderToken,AuthenticationProviderBasic"


def as_url(text: str) -> str:
    return f"data:;base64,{base64.b64encode(text.encode()).decode()}"


def role(content: str, credentials: bytes) -> str:
    provider = BasicProvider(setup(basic_file=as_url(content)))
    return asyncio.run(provider.authenticate(Credentials(credentials))).role


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=config(providers=BOTH, basic_file=as_url(f"producer:{APR1}\n"))) as found:
        prepare(found)
        yield found


@pytest.mark.parametrize(
    ("password", "hashed"),
    [
        ("a", "$apr1$abcdefgh$G8IsPsylW5ROvIKsQMRG61"),
        ("secret", APR1),
        ("x" * 40, "$apr1$abcdefgh$7h4098paklNpzdB9KwCdh/"),
        ("pässwort", "$apr1$abcdefgh$IYp2oL6wMKQl4HnNo8eI9/"),
    ],
)
def test_the_md5_of_apache_is_computed_as_openssl_does(password: str, hashed: str) -> None:
    assert apr1(password.encode(), b"abcdefgh") == hashed


@pytest.mark.parametrize(("hashed", "password"), [(APR1, b"secret"), (BCRYPT, b"secret"), (SHA1, b"secret")])
def test_a_password_with_its_hash_gives_the_user(hashed: str, password: bytes) -> None:
    assert role(f"alice:{hashed}\n", b"alice:" + password) == "alice"
    with pytest.raises(AuthenticationFailed):
        role(f"alice:{hashed}\n", b"alice:other")


@pytest.mark.parametrize("credentials", [b"", b"alice", b"bob:secret", b"alice:", b":secret", b"alice:" + b"x" * 5000])
def test_everything_else_is_refused(credentials: bytes) -> None:
    with pytest.raises(AuthenticationFailed):
        role(f"alice:{APR1}\n", credentials)


@pytest.mark.parametrize("name", [b"alice ", b" alice", b"al\x00ice", b"al\xc2\x85ice", b"j\xfcrgen"])
def test_a_user_whose_name_cannot_be_a_role_is_refused(name: bytes) -> None:
    provider = BasicProvider(setup(basic_file=f"data:;base64,{base64.b64encode(name + f':{APR1}'.encode()).decode()}"))
    with pytest.raises(AuthenticationFailed, match="the credentials name a role"):
        asyncio.run(provider.authenticate(Credentials(name + b":secret")))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "has no users"),
        ("alice\n", "line 1 of basicAuthConf is not user:hash"),
        (f"bob:{APR1}\n\n", "line 2 of basicAuthConf is not user:hash"),
        (f"a:b:{APR1}\n", "line 1 of basicAuthConf is not user:hash"),
        ("alice:secret\n", "line 1 of basicAuthConf has a hash that is not supported"),
    ],
)
def test_a_broker_with_an_unusable_password_file_does_not_start(content: str, reason: str) -> None:
    with pytest.raises(InvalidConfiguration, match=reason):
        role(content, b"alice:secret")


def test_the_official_client_uses_a_password(broker: EmbeddedBroker) -> None:
    def connect(password: str) -> pulsar.Client:
        authentication = pulsar.AuthenticationBasic("producer", password)
        logger = pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull)
        return pulsar.Client(broker.service_url, authentication=authentication, logger=logger)

    with closing(connect("secret")) as client:
        client.create_producer(PLAIN).send(b"hello")
    with closing(connect("wrong")) as client, pytest.raises(pulsar.AuthenticationError):
        client.create_producer(PLAIN)


def test_over_http_the_method_header_chooses_the_provider(broker: EmbeddedBroker) -> None:
    basic = {"Authorization": f"Basic {base64.b64encode(b'producer:secret').decode()}"}
    path = "namespaces/acme/shop/topics"
    assert ask(broker, "GET", path, role="", **basic).status == 200
    assert ask(broker, "GET", path, role="", **basic, X_Pulsar_Auth_Method_Name="basic").status == 200
    assert ask(broker, "GET", path, role="", **basic, X_Pulsar_Auth_Method_Name="token").status == 401
    assert ask(broker, "GET", path, role=ADMIN, X_Pulsar_Auth_Method_Name="other").status == 401
