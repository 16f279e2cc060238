"""Who clients are, for a proxy that checks them and for the broker that it stands in front of."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pulsar
import pytest

from broker_core.config.proxy import ProxySecurityConfig
from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import AuthenticationError, BaseCommand
from tests.support.raw_client import RawClient
from tests.support.running_proxy import RunningProxy, client_of, proxy_config
from tests.support.secured import ADMIN, NAMESPACE, PLAIN, SECRET_URL, ask, config, prepare, token

PROVIDER = "org.apache.pulsar.broker.authentication.AuthenticationProviderToken"
PLUGIN = "org.apache.pulsar.client.impl.auth.AuthenticationToken"


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=config(refresh_seconds=0.2)) as found:
        prepare(found)
        yield found


WHOAMI = "/admin/v2/auth/whoami"


def checks(**changes: Any) -> ProxySecurityConfig:
    given: dict[str, Any] = {"authentication": True, "providers": PROVIDER, "token_secret_key": SECRET_URL}
    return ProxySecurityConfig(**{**given, "super_users": ADMIN, "refresh_seconds": 0.2, **changes})


@pytest.fixture(scope="module")
def proxy(broker: EmbeddedBroker) -> Iterator[RunningProxy]:
    """Checks clients, and has its own role."""
    with RunningProxy(
        proxy_config(broker, security=checks(), plugin=PLUGIN, parameters=f"token:{token('proxy')}")
    ) as found:
        yield found


@pytest.fixture(scope="module")
def forwarding(broker: EmbeddedBroker) -> Iterator[RunningProxy]:
    """Leaves the check to the broker."""
    with RunningProxy(proxy_config(broker, forward_credentials=True)) as found:
        yield found


@pytest.fixture(params=["proxy", "forwarding"])
def either(request: pytest.FixtureRequest) -> RunningProxy:
    found: RunningProxy = request.getfixturevalue(request.param)
    return found


def client(proxy: RunningProxy, role: str, secret: str = "") -> pulsar.Client:
    return client_of(proxy.service_url, authentication=pulsar.AuthenticationToken(secret or token(role)))


def test_a_role_may_do_what_it_may_do_at_the_broker(either: RunningProxy) -> None:
    with closing(client(either, "producer")) as producing, closing(client(either, "consumer")) as consuming:
        consumer = consuming.subscribe(PLAIN, f"s-{time.monotonic_ns()}")
        producing.create_producer(PLAIN).send(b"x")
        assert consumer.receive(5_000).data() == b"x"
        with pytest.raises(pulsar.AuthorizationError):
            producing.subscribe(PLAIN, "s")
        with pytest.raises(pulsar.AuthorizationError):
            consuming.create_producer(PLAIN)


def test_a_wrong_token_is_an_error_at_once(either: RunningProxy) -> None:
    started = time.monotonic()
    with closing(client(either, "", "wrong")) as wrong, pytest.raises(pulsar.PulsarException):
        wrong.create_producer(PLAIN)
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("fields", [{}, {"auth_method_name": "token", "auth_data": b"wrong"}])
def test_a_client_without_credentials_never_reaches_the_broker(
    broker: EmbeddedBroker, proxy: RunningProxy, fields: dict[str, Any]
) -> None:
    for target in (None, broker.service_url):
        with RawClient(proxy.service_url, handshake=False) as raw:
            raw.send(client_commands.connect("raw", proxy_to_broker_url=target, **fields))
            assert raw.expect(BaseCommand.ERROR).error == AuthenticationError
            assert raw.is_closed()


def test_a_client_cannot_act_for_another_one(broker: EmbeddedBroker, proxy: RunningProxy) -> None:
    """Whatever it claims, the broker learns the role that the proxy has found."""
    with RawClient(proxy.service_url, handshake=False) as raw:
        mine = token("nothing").encode()
        raw.send(
            client_commands.connect(
                "raw",
                auth_method_name="token",
                auth_data=mine,
                original_principal=ADMIN,
                proxy_to_broker_url=broker.service_url,
            )
        )
        raw.expect(BaseCommand.CONNECTED)
        raw.send(client_commands.lookup(1, PLAIN))
        refused = raw.expect(BaseCommand.LOOKUP_RESPONSE)
        assert "not authorized" in refused.message.lower()


def test_over_http_a_role_may_do_what_it_may_do_at_the_broker(either: RunningProxy) -> None:
    path = f"/admin/v2/persistent/{NAMESPACE}/plain/subscriptions"

    def ask(role: str, **headers: str) -> int:
        return either.ask("GET", path, Authorization=f"Bearer {token(role)}", **headers).status

    assert ask("consumer") == 200
    assert ask("nothing") == 401
    assert ask("nothing", X_Original_Principal="consumer") == 401
    assert either.ask("GET", path).status == 401


def named(proxy: RunningProxy, role: str) -> tuple[int, str]:
    """The status of a request through the proxy, and for which role the broker takes it, or its reason."""
    answer = proxy.ask("GET", WHOAMI, Authorization=f"Bearer {token(role)}")
    return answer.status, answer.json.get("originalRole") or answer.json.get("role") or answer.json["reason"]


@pytest.mark.parametrize("role", [f"{ADMIN} ", f" {ADMIN}", f"{ADMIN}\u00a0", f"\u3000{ADMIN}"])
def test_over_http_a_role_with_outer_spaces_does_not_become_another_one(
    broker: EmbeddedBroker, either: RunningProxy, role: str
) -> None:
    assert named(either, role)[0] == 401
    assert ask(broker, "GET", "tenants", role=role).status == 401


@pytest.mark.parametrize("role", ["team/app one", "jane@example.com", "Doe, Jane", "100%25"])
def test_over_http_a_role_reaches_the_broker_unchanged(either: RunningProxy, role: str) -> None:
    assert named(either, role) == (200, role)


def test_over_http_a_role_outside_ascii_never_becomes_another_one(
    proxy: RunningProxy, forwarding: RunningProxy
) -> None:
    """The broker that gets the credentials finds the role itself; a header has no agreed encoding for it."""
    status, reason = named(proxy, "j\u00fcrgen")
    assert (status, "outside ASCII" in reason) == (403, True)
    assert named(forwarding, "j\u00fcrgen") == (200, "j\u00fcrgen")


def test_only_super_users_see_the_connections(proxy: RunningProxy) -> None:
    def ask(path: str, role: str = "") -> int:
        headers = {"Authorization": f"Bearer {token(role)}"} if role else {}
        return proxy.ask("GET", path, **headers).status

    assert ask("/proxy-stats/connections", ADMIN) == 200
    assert ask("/proxy-stats/connections", "producer") == 403
    assert ask("/proxy-stats/connections") == 401
    assert (ask("/metrics"), ask("/metrics", "nothing"), ask("/status.html")) == (401, 200, 200)


def test_the_token_of_the_proxy_is_read_again_for_each_connection(broker: EmbeddedBroker, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("outdated")
    given = proxy_config(broker, security=checks(), plugin=PLUGIN, parameters=f"file://{file}")
    with RunningProxy(given) as proxy:
        with closing(client(proxy, "producer")) as early, pytest.raises(pulsar.PulsarException):
            early.create_producer(PLAIN)
        file.write_text(token("proxy") + "\n")
        with closing(client(proxy, "producer")) as later:
            later.create_producer(PLAIN).send(b"x")


def expiring(role: str = "producer") -> bytes:
    return token(role, exp=int(time.time()) + 2).encode()


def connected(proxy: RunningProxy, target: str | None) -> RawClient:
    """A client whose token expires within two seconds."""
    raw = RawClient(proxy.service_url, handshake=False)
    raw.send(
        client_commands.connect(
            "raw",
            auth_method_name="token",
            auth_data=expiring(),
            proxy_to_broker_url=target,
            supports_auth_refresh=True,
        )
    )
    raw.expect(BaseCommand.CONNECTED)
    return raw


def test_a_client_whose_credentials_expire_renews_them(broker: EmbeddedBroker, either: RunningProxy) -> None:
    """The proxy asks on a lookup connection, and the broker through a proxy that passes credentials on."""
    target = broker.service_url if either.proxy.config.brokers.forward_credentials else None
    raw = connected(either, target)
    challenge = raw.expect(BaseCommand.AUTH_CHALLENGE)
    assert challenge.challenge.auth_method_name == "token"
    raw.send(client_commands.auth_response("raw", "token", token("producer").encode()))
    raw.send(client_commands.lookup(1, PLAIN))
    assert raw.expect(BaseCommand.LOOKUP_RESPONSE).brokerServiceUrl
    assert not raw.is_closed(0.8)
    raw.close()


def test_a_broker_that_wants_new_credentials_of_a_lookup_connection_gets_them(
    broker: EmbeddedBroker, forwarding: RunningProxy
) -> None:
    raw = connected(forwarding, None)
    raw.send(client_commands.lookup(1, PLAIN))
    raw.expect(BaseCommand.LOOKUP_RESPONSE)
    raw.expect(BaseCommand.AUTH_CHALLENGE)
    raw.send(client_commands.auth_response("raw", "token", token("producer").encode()))
    raw.send(client_commands.lookup(2, PLAIN))
    assert raw.expect(BaseCommand.LOOKUP_RESPONSE).brokerServiceUrl
    raw.close()


def test_a_client_that_renews_nothing_is_disconnected(broker: EmbeddedBroker, either: RunningProxy) -> None:
    for target in (None, broker.service_url):
        raw = connected(either, target)
        if target is None and either.proxy.config.brokers.forward_credentials:
            raw.close()  # nothing checks a client that has asked for nothing
            continue
        assert raw.is_closed()
        raw.close()


def test_new_credentials_of_another_role_end_the_connection(proxy: RunningProxy) -> None:
    raw = connected(proxy, None)
    raw.send(client_commands.auth_response("raw", "token", token(ADMIN).encode()))
    assert raw.is_closed()
    raw.close()
