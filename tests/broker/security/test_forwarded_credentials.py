"""Credentials of a client that a proxy passes on: checked again, expiring, and never those of the proxy."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.testing import EmbeddedBroker
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandProducer, ServerError
from tests.support.raw_client import RawClient
from tests.support.secured import PLAIN, config, expiring_token, prepare, stranger, token


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    """A broker that checks what proxies pass on."""
    with EmbeddedBroker(config=config(original_data=True, refresh_seconds=0.2)) as found:
        prepare(found)
        yield found


@pytest.fixture(scope="module")
def believing() -> Iterator[EmbeddedBroker]:
    """A broker that believes the role that a proxy names."""
    with EmbeddedBroker(config=config(refresh_seconds=0.2)) as found:
        prepare(found)
        yield found


def through(broker: EmbeddedBroker, role: str = "proxy", **original: str) -> RawClient:
    """A client whose CONNECT a proxy sends: `principal`, `data`, and `method` are those of the client."""
    command = BaseCommand(type=BaseCommand.CONNECT)
    body = command.connect
    body.client_version, body.protocol_version = "raw", 21
    body.auth_method_name, body.auth_data = "token", token(role).encode()
    body.feature_flags.supports_auth_refresh = True
    for name, value in original.items():
        setattr(body, "original_principal" if name == "principal" else f"original_auth_{name}", value)
    client = stranger(broker)
    client.send(frame(command))
    return client


def producer_answer(client: RawClient) -> Any:
    client.expect(BaseCommand.CONNECTED)
    body = CommandProducer(topic=PLAIN, producer_id=1, request_id=1)
    client.send(frame(BaseCommand(type=BaseCommand.PRODUCER, producer=body)))
    return client.next()


def refusal(client: RawClient) -> Any:
    found = client.expect(BaseCommand.ERROR)
    assert client.is_closed()
    return found


def test_credentials_that_are_passed_on_name_the_role(broker: EmbeddedBroker) -> None:
    client = through(broker, data=token("producer"), method="token")
    assert producer_answer(client).type == BaseCommand.PRODUCER_SUCCESS
    client = through(broker, data=token("consumer"), method="token")
    assert producer_answer(client).message.error == ServerError.AuthorizationError


def test_the_principal_that_a_proxy_names_does_not_count_beside_credentials(broker: EmbeddedBroker) -> None:
    client = through(broker, principal="producer", data=token("consumer"), method="token")
    assert producer_answer(client).message.error == ServerError.AuthorizationError


@pytest.mark.parametrize(
    "original",
    [
        {"data": "wrong", "method": "token"},
        {"data": token("producer", exp=1), "method": "token"},
        {"data": token("producer"), "method": "basic"},
        {"data": token("producer")},
        {"data": token("producer"), "method": "none"},
    ],
)
def test_credentials_that_prove_nothing_are_refused(broker: EmbeddedBroker, original: dict[str, str]) -> None:
    found = refusal(through(broker, principal="producer", **original))
    assert (found.error, found.message) == (ServerError.AuthenticationError, "Failed to authenticate")


@pytest.mark.parametrize("original", [{}, {"principal": "producer"}])
def test_a_proxy_that_passes_no_credentials_on_is_refused(broker: EmbeddedBroker, original: dict[str, str]) -> None:
    found = refusal(through(broker, **original))
    assert (found.error, found.message) == (ServerError.AuthorizationError, "Invalid roles.")


def test_a_proxy_cannot_pass_on_its_own_credentials(broker: EmbeddedBroker) -> None:
    assert refusal(through(broker, data=token("proxy"), method="token")).message == "Invalid roles."


@pytest.mark.parametrize("role", ["producer", "admin"])
def test_a_role_that_is_no_proxy_passes_nothing_on(broker: EmbeddedBroker, role: str) -> None:
    client = through(broker, role, principal="admin", data=token("admin"), method="token")
    assert refusal(client).message == "Invalid roles."


def test_passed_on_credentials_that_expire_are_asked_for(broker: EmbeddedBroker) -> None:
    """CVE-2023-31007: naming an original principal kept a connection from being checked again."""
    client = through(broker, principal="producer", data=expiring_token("producer"), method="token")
    client.expect(BaseCommand.CONNECTED)
    client.expect(BaseCommand.AUTH_CHALLENGE)
    assert client.is_closed()


def test_wrong_renewals_of_one_client_do_not_refuse_those_of_others_behind_the_same_proxy() -> None:
    with EmbeddedBroker(config=config(original_data=True, failed_attempts=1, refused_attempts=1)) as broker:
        prepare(broker)
        guessing, honest = (through(broker, data=token(role), method="token") for role in ("consumer", "producer"))
        guessing.expect(BaseCommand.CONNECTED)
        renew(guessing, "wrong")
        refusal(guessing)
        renew(honest, token("producer", exp=int(time.time()) + 3600))
        assert producer_answer(honest).type == BaseCommand.PRODUCER_SUCCESS


def renew(client: RawClient, data: str) -> None:
    command = BaseCommand(type=BaseCommand.AUTH_RESPONSE)
    body = command.authResponse
    body.client_version, body.protocol_version = "raw", 21
    body.response.auth_method_name, body.response.auth_data = "token", data.encode()
    client.send(frame(command))


def test_an_expired_proxy_is_disconnected_although_it_names_a_client(believing: EmbeddedBroker) -> None:
    command = BaseCommand(type=BaseCommand.CONNECT)
    body = command.connect
    body.client_version, body.protocol_version, body.original_principal = "raw", 21, "producer"
    body.auth_method_name, body.auth_data = "token", expiring_token("proxy").encode()
    body.feature_flags.supports_auth_refresh = True
    client = stranger(believing)
    client.send(frame(command))
    client.expect(BaseCommand.CONNECTED)
    assert client.is_closed()
