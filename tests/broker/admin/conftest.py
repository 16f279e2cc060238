"""A real broker on free ports, and an HTTP client that sends paths unchanged."""

import asyncio
import http.client
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from broker_core.broker import Broker
from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ServerConfig
from broker_core.names import parse_topic
from broker_core.server.server import Server
from broker_core.storage.records.position import Position
from broker_core.topic.one_entry import OneEntry
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata

PORT_ZERO = ServerConfig(broker_port=0, web_port=0)


@dataclass(frozen=True)
class Reply:
    status: int
    content_type: str | None
    text: str
    warning: str = ""

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def reason(self) -> str:
        return str(self.json["reason"]) if self.text else ""


class Admin:
    """`await admin("PUT", "tenants/t", {...})`; a path that starts with `/` is used unchanged."""

    def __init__(self, server: Server) -> None:
        self.server = server

    @property
    def broker(self) -> Broker:
        return self.server.broker

    async def __call__(self, method: str, path: str, body: Any = None, *, raw: bytes | None = None) -> Reply:
        sent = raw if raw is not None else (None if body is None else json.dumps(body).encode())
        return await asyncio.to_thread(self._request, method, path, sent)

    def _request(self, method: str, path: str, body: bytes | None) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.web_port, timeout=10)
        try:
            headers = {"Content-Type": "application/json"} if body is not None else {}
            whole = path if path.startswith("/") else f"/admin/v2/{path}"
            connection.request(method, whole, body, headers)
            response = connection.getresponse()
            text, warning = response.read().decode(), response.getheader("Warning", "")
            return Reply(response.status, response.getheader("Content-Type"), text, warning)
        finally:
            connection.close()

    async def publish(self, topic: str, payloads: list[bytes], **metadata: Any) -> list[Position]:
        """Publishes messages through the topic, one entry each."""
        loaded = await self.broker.topics.get(parse_topic(topic), create=True)
        return [await _publish(self.broker, loaded, payload, metadata) for payload in payloads]


async def _publish(broker: Broker, topic: Any, payload: bytes, given: dict[str, Any]) -> Position:
    fields = {"producer_name": "test", "sequence_id": 0, "publish_time": broker.clock.wall_ms(), **given}
    entry = build_entry(MessageMetadata(**fields), payload)
    written: asyncio.Future[Position] = asyncio.get_running_loop().create_future()
    count = fields.get("num_messages_in_batch", 1)
    run = OneEntry(entry, [0], [len(entry)], [count], [fields["publish_time"]])
    topic.publish(run, lambda first, error: written.set_result(first) if first else written.set_exception(error))
    return await written


async def start(folder: Path, config: BrokerConfig) -> Server:
    server = Server(config, folder)
    await server.start()
    return server


@pytest.fixture
def config() -> BrokerConfig:
    """Tests that need another configuration override this fixture."""
    return BrokerConfig(server=PORT_ZERO)


@pytest.fixture
async def admin(tmp_path: Path, config: BrokerConfig) -> AsyncIterator[Admin]:
    server = await start(tmp_path / "data", config)
    yield Admin(server)
    await server.stop()


@pytest.fixture
async def shop(admin: Admin) -> Admin:
    """A broker with the namespace `acme/shop`, the topic `plain`, and the topic `parted` of three partitions."""
    await admin("PUT", "tenants/acme", {"allowedClusters": ["standalone"]})
    await admin("PUT", "namespaces/acme/shop")
    await admin("PUT", "persistent/acme/shop/plain")
    await admin("PUT", "persistent/acme/shop/parted/partitions", 3)
    return admin
