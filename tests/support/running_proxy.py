"""A proxy for tests: real, in this process, on free ports, on an event loop in a thread."""

from __future__ import annotations

import asyncio
import dataclasses
import http.client
import json
import os
import threading
from collections.abc import Coroutine
from typing import Any, Self, TypeVar

import pulsar

from broker_core.clock import Clock
from broker_core.config.proxy import (
    ProxyBrokersConfig,
    ProxyConfig,
    ProxySecurityConfig,
    ProxyServerConfig,
    ProxyTlsConfig,
)
from broker_core.proxy.dialing import Resolve, resolve
from broker_core.proxy.server import Proxy
from broker_core.testing import EmbeddedBroker
from tests.broker.proxy.fake_broker import FakeBroker

T = TypeVar("T")
DEADLINE_SECONDS = 30.0
FREE_PORTS = ProxyServerConfig(port=0, web_port=0, drain_seconds=0.5)
QUIET = pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull)


def proxy_config(
    broker: EmbeddedBroker,
    *,
    security: ProxySecurityConfig | None = None,
    listeners: ProxyTlsConfig | None = None,
    **brokers: Any,
) -> ProxyConfig:
    """In front of that broker; `brokers` are fields of that section."""
    urls = {"service_url": broker.service_url, "web_url": broker.http_url}
    return ProxyConfig(
        server=FREE_PORTS,
        brokers=ProxyBrokersConfig(**{**urls, **brokers}),
        security=security or ProxySecurityConfig(),
        tls=listeners or ProxyTlsConfig(),
    )


def proxy_config_of(fake: FakeBroker, **brokers: Any) -> ProxyConfig:
    """In front of a broker that answers as a test says."""
    return ProxyConfig(server=FREE_PORTS, brokers=ProxyBrokersConfig(**{"service_url": fake.service_url, **brokers}))


class RunningProxy:
    """`with RunningProxy(config) as proxy: pulsar.Client(proxy.service_url)`."""

    def __init__(self, config: ProxyConfig, *, clock: Clock | None = None, resolve: Resolve = resolve) -> None:
        self.proxy = Proxy(config, clock=clock, resolve=resolve)
        self.gateway = self.proxy.gateway

    def start(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self.call(self.proxy.start())
        self.service_url, self.http_url = self.proxy.service_url, self.proxy.http_url
        return self

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(DEADLINE_SECONDS)

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        self.call(self.proxy.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE_SECONDS)
        self._loop.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """One request over HTTP."""
        port = int(self.http_url.rpartition(":")[2])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, bytes):
            sent["Content-Type"] = "application/json"
            body = json.dumps(body).encode()
        try:
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            return Reply(response.status, response.read(), dict(response.getheaders()))
        finally:
            connection.close()


@dataclasses.dataclass(frozen=True)
class Reply:
    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def client_of(url: str, *, seconds: int = 5, **options: Any) -> pulsar.Client:
    return pulsar.Client(url, operation_timeout_seconds=seconds, logger=QUIET, **options)
