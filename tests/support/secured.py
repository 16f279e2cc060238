"""A broker with tokens and authorization, and clients of every role.

The tenant `acme` has the namespace `acme/shop` with the topic `plain` and the topic `parted` of two partitions. ROLES
says what each role has there.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

import jwt
import pulsar

from broker_core.clock import Clock, SystemClock
from broker_core.config.broker import BrokerConfig
from broker_core.config.openid import OpenIdConfig
from broker_core.config.security import SecurityConfig
from broker_core.config.server import ConnectionConfig, ServerConfig
from broker_core.security.provider_setup import Setup
from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.raw_client import RawClient

SECRET = b"0123456789abcdef0123456789abcdef"
SECRET_URL = "data:;base64,MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
ADMIN = "admin"
NAMESPACE = "acme/shop"
PLAIN = f"persistent://{NAMESPACE}/plain"
PARTED = f"persistent://{NAMESPACE}/parted"
ROLES = {
    "nothing": "authenticated, without any permission",
    "producer": "produce on the namespace",
    "consumer": "consume on the namespace",
    "topic-producer": "produce on plain and parted",
    "topic-consumer": "consume on plain and parted",
    "owner": "admin of the tenant",
    "stranger": "admin of another tenant",
    ADMIN: "super-user",
    "proxy": "proxy with produce and consume on the namespace",
}


def token(role: str, **claims: Any) -> str:
    return jwt.encode({"sub": role, **claims}, SECRET, "HS256")


def expiring_token(role: str) -> str:
    """Good for one to two seconds, so that a client can connect first: `exp` has whole seconds."""
    return token(role, exp=int(time.time()) + 2)


def config(**security: Any) -> BrokerConfig:
    given: dict[str, Any] = {
        "authentication": True,
        "authorization": True,
        "providers": "org.apache.pulsar.broker.authentication.AuthenticationProviderToken",
        "token_secret_key": SECRET_URL,
        "super_users": ADMIN,
        "proxies": "proxy",
        "internal_plugin": "org.apache.pulsar.client.impl.auth.AuthenticationToken",
        "failed_attempts": 1_000,
        "refused_attempts": 0,
    }
    return BrokerConfig(
        server=ServerConfig(broker_port=0, web_port=0),
        connection=ConnectionConfig(),
        security=SecurityConfig(**{**given, **security}),
    )


def setup(clock: Clock | None = None, openid: OpenIdConfig | None = None, **given: Any) -> Setup:
    """What a single provider is made from. Its tasks belong to the running event loop."""
    tasks: set[asyncio.Task[Any]] = set()

    def spawn(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        tasks.add(task)
        return task

    return Setup(SecurityConfig(**given), openid or OpenIdConfig(), clock or SystemClock(), spawn)


@dataclass(frozen=True)
class Reply:
    status: int
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def ask(
    broker: EmbeddedBroker, method: str, path: str, body: Any = None, *, role: str = ADMIN, **headers: str
) -> Reply:
    """One request with a role's token; an empty role sends none. A path without a slash belongs to /admin/v2."""
    address = broker.http_url.removeprefix("http://").rpartition(":")
    connection = http.client.HTTPConnection("127.0.0.1", int(address[2]), timeout=10)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if role:
        sent["Authorization"] = f"Bearer {token(role)}"
    if body is not None:
        sent["Content-Type"] = "application/json"
    try:
        whole = path if path.startswith("/") else f"/admin/v2/{path}"
        connection.request(method, whole, None if body is None else json.dumps(body), sent)
        response = connection.getresponse()
        return Reply(response.status, response.read().decode())
    finally:
        connection.close()


def prepare(broker: EmbeddedBroker) -> None:
    """Creates the tenants, the topics, and the permissions of ROLES."""
    for tenant, admin in (("acme", "owner"), ("other", "stranger")):
        body = {"adminRoles": [admin], "allowedClusters": ["standalone"]}
        assert ask(broker, "PUT", f"tenants/{tenant}", body).status == 204
    assert ask(broker, "PUT", f"namespaces/{NAMESPACE}", {}).status == 204
    assert ask(broker, "PUT", f"persistent/{NAMESPACE}/plain").status == 204
    assert ask(broker, "PUT", f"persistent/{NAMESPACE}/parted/partitions", 2).status == 204
    for role, actions in (("producer", ["produce"]), ("consumer", ["consume"]), ("proxy", ["produce", "consume"])):
        assert ask(broker, "POST", f"namespaces/{NAMESPACE}/permissions/{role}", actions).status == 204
    for topic in ("plain", "parted"):
        for action in ("produce", "consume"):
            path = f"persistent/{NAMESPACE}/{topic}/permissions/topic-{action}r"
            assert ask(broker, "POST", path, [action]).status == 204


def connect(broker: EmbeddedBroker, role: str, *, seconds: int = 5) -> pulsar.Client:
    return pulsar.Client(
        broker.service_url,
        authentication=pulsar.AuthenticationToken(token(role)),
        operation_timeout_seconds=seconds,
        logger=pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull),
    )


_opened: list[RawClient] = []


def stranger(broker: EmbeddedBroker) -> RawClient:
    """A client that has sent nothing yet."""
    client = RawClient(broker.service_url, handshake=False)
    _opened.append(client)
    return client


def close_clients() -> None:
    while _opened:
        _opened.pop().socket.close()


def raw(broker: EmbeddedBroker, role: str, *, original: str = "") -> RawClient:
    """A client that sends single commands, connected with a role's token."""
    client = stranger(broker)
    data = token(role).encode()
    client.send(
        client_commands.connect("raw", auth_method_name="token", auth_data=data, original_principal=original or None)
    )
    client.expect(BaseCommand.CONNECTED)
    return client
