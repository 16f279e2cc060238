"""A topic in a broker in this process whose ledgers are offloaded, read by the official client."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pulsar

from broker_core.config.broker import BrokerConfig
from broker_core.config.offload import OffloadConfig
from broker_core.config.policies import PolicyConfig
from broker_core.config.storage import StorageConfig
from broker_core.names import parse_topic
from broker_core.storage.disk import Disk
from broker_core.storage.managed_ledger.managed_ledger import ManagedLedger
from broker_core.storage.records.position import LATEST
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.topic.offloading import OffloadState
from broker_core.topic.topic import Topic
from tests.support.condition import wait_until
from tests.support.managed_ledgers import managed_ledger
from tests.support.storage import contents

TOPIC = "persistent://public/default/orders"
PATIENCE_SECONDS = 60.0
LEDGER_ENTRIES = 10


def in_directory(store: Path, **settings: Any) -> OffloadConfig:
    chosen = {"deletion_lag_ms": -1, "allowed_stores": "*", **settings}
    return OffloadConfig(driver="filesystem", filesystem_uri=f"file://{store}", **chosen)


class OffloadedTopic:
    def __init__(self, broker: EmbeddedBroker, client: pulsar.Client, name: str = TOPIC) -> None:
        self.broker = broker
        self.client = client
        self.name = name

    @property
    def topic(self) -> Topic:
        return self.broker.call(self.broker.broker.topics.get(parse_topic(self.name)))

    @property
    def local_name(self) -> str:
        return self.name.rsplit("/", 1)[1]

    def publish(self, values: list[bytes], **options: Any) -> None:
        """One entry for each message, `LEDGER_ENTRIES` in each ledger; all ledgers are sealed."""
        producer = self.client.create_producer(self.name, batching_enabled=False, block_if_queue_full=True)
        for start in range(0, len(values), LEDGER_ENTRIES):
            for value in values[start : start + LEDGER_ENTRIES]:
                producer.send_async(value, None, **options)
            producer.flush()
            self.roll()
        producer.close()

    def roll(self) -> None:
        self.broker.call(managed_ledger(self.topic).roll())

    def start(self) -> None:
        async def begin() -> None:
            topic = await self.broker.broker.topics.get(parse_topic(self.name))
            topic.offloading.start(LATEST)

        self.broker.call(begin())

    def offload(self) -> None:
        """Everything that is sealed; raises AssertionError with the reason if that fails."""
        self.start()
        self.wait()
        offloading = self.topic.offloading
        assert offloading.state is OffloadState.SUCCESS, offloading.last_error

    def wait(self) -> None:
        offloading = self.topic.offloading
        wait_until(lambda: not offloading.is_running, PATIENCE_SECONDS)

    def publish_and_offload(self, count: int = 20) -> list[bytes]:
        """The entries as they were before; only the store has them now."""
        self.publish(values(count))
        before = self.entries()
        self.offload()
        self.drop_files()
        return before

    def acknowledge_all(self) -> None:
        self.rest("POST", "subscription/keeps/skip_all")

    def drop_files(self, *, forget: bool = True) -> None:
        """As after the deletion lag; with `forget`, nothing of the topic stays in memory."""
        ids = [info.id for info in managed_ledger(self.topic).copies.sealed()]
        self.broker.call(managed_ledger(self.topic).copies.drop_files(ids))
        if forget:
            self.forget()

    def forget(self) -> None:
        """The next read has to ask the store, or the disk."""
        copies = [info.copy for info in self.log().ledger_infos() if info.copy is not None]

        async def forget() -> None:
            await self.broker.broker.topics.unload(parse_topic(self.name))
            await self.broker.broker.storage.writer.barrier()
            for copy in copies:
                self.broker.broker.tier.reader.forget(copy)

        self.broker.call(forget())

    def entries(self) -> list[bytes]:
        """The bytes of every entry, as the dispatchers read them. Raises StorageError."""
        return self.broker.call(contents(managed_ledger(self.topic)))

    def log(self) -> ManagedLedger:
        return managed_ledger(self.topic)

    def rest(self, method: str, path: str, body: Any = None, *, raw: bool = False) -> Any:
        """A request below the topic (`offload`), or below `/admin/v2` if it starts with a slash."""
        rest = path if path.startswith("/") else f"/{self.name.replace('://', '/')}/{path}"
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.broker.http_url}/admin/v2{rest}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as response:
            text = response.read()
        return text if raw else json.loads(text) if text else None

    def ledger_files(self) -> list[Path]:
        return sorted((self.broker.directory / "ledgers").rglob("*.ledger"))

    def read(self, count: int, start: pulsar.MessageId = pulsar.MessageId.earliest) -> list[bytes]:
        reader = self.client.create_reader(self.name, start)
        try:
            return [reader.read_next(20_000).data() for _ in range(count)]
        finally:
            reader.close()


@contextmanager
def offloaded_topic(
    config: OffloadConfig, directory: Path | None = None, name: str = TOPIC, disk: Disk | None = None, **storage: Any
) -> Iterator[OffloadedTopic]:
    """A broker with small ledgers, and a subscription that keeps everything. Tests share buckets, so names differ."""
    limits = StorageConfig(max_entries_per_ledger=LEDGER_ENTRIES, reserve_mb=0, cache_mb=0)
    policies = PolicyConfig(force_delete_namespace=True)
    settings = BrokerConfig(server=FREE_PORTS, offload=config, storage=replace(limits, **storage), policies=policies)
    with EmbeddedBroker(directory, config=settings, disk=disk) as broker:
        client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
        try:
            client.subscribe(name, "keeps").close()
            yield OffloadedTopic(broker, client, name)
        finally:
            client.close()


def values(count: int, size: int = 100) -> list[bytes]:
    return [f"{number:08d}".encode().ljust(size, b".") for number in range(count)]
