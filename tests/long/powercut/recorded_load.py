"""The load whose calls are recorded: official clients against a broker in this process, on the recording disk.

Three producers (one message at a time, pipelined, batched), a consumer that acknowledges most messages, transactions,
and a scalable topic that is split and merged. A second subscription acknowledges none, so nothing is trimmed. Receipts
are recorded when the broker passes them to its transport, the earliest moment at which a client could see them.
Recording them in the client would miss a race that answers before the sync.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pulsar

from broker_core.broker import Broker
from broker_core.config.broker import BrokerConfig
from broker_core.scalable.layout import Layout
from broker_core.server.connection import Connection
from broker_core.storage.disk import Disk
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.frame import Command, FrameDecoder
from tests.long.powercut.calls import Call, CallLog, Ended, Receipt, Subscribed
from tests.long.powercut.contents import Contents, read_contents
from tests.long.powercut.recording_disk import RecordingDisk
from tests.long.powercut.segments import run_segments
from tests.long.powercut.transactions import Transaction, run_transactions
from tests.support.official_client import connect

CONFIG = BrokerConfig()
# Small enough that a short load rolls ledgers and takes checkpoints, so that power cuts hit those too.
STORAGE = replace(CONFIG.storage, max_entries_per_ledger=1000, checkpoint_seconds=0.25, journal_max_mb=1)
FRAME_LIMIT = 6 << 20
START_SECONDS = 30.0
RECEIVE_MS = 10_000


@dataclass(frozen=True)
class Recording:
    calls: list[Call]
    contents: Contents  # every entry at the end of the load
    transactions: dict[int, Transaction]
    layouts: dict[int, Layout]  # of the scalable topic, by epoch


class ReceiptNotes:
    """Sits between a connection and its transport: passes everything on, and records receipts before they leave."""

    def __init__(self, transport: asyncio.BaseTransport, log: CallLog) -> None:
        self._transport: Any = transport
        self._log = log
        self._decoder = FrameDecoder(FRAME_LIMIT)

    def write(self, data: bytes) -> None:
        for item in self._decoder.feed(bytes(data)):
            if isinstance(item, Command) and item.type == pb.BaseCommand.SEND_RECEIPT:
                position = item.message.message_id
                self._log.add(Receipt(position.ledgerId, position.entryId))
            elif isinstance(item, Command) and item.type == pb.BaseCommand.END_TXN_RESPONSE:
                self._log.add(Ended(item.message.txnid_least_bits))
        self._transport.write(data)

    def writelines(self, chunks: list[bytes]) -> None:
        self.write(b"".join(chunks))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class NotedConnection(Connection):
    def __init__(self, broker: Broker, log: CallLog) -> None:
        super().__init__(broker)
        self._log = log

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(ReceiptNotes(transport, self._log))  # type: ignore[arg-type]  # by its methods


def record(directory: Path, messages: int, *, disk_type: type[RecordingDisk] = RecordingDisk) -> Recording:
    """Runs the load on a new data directory and returns its calls."""
    log = CallLog()
    disk = disk_type(directory, log)
    with BrokerThread(directory, disk, log) as broker:
        transactions, layouts = drive(broker, messages, log)
        contents = broker.run(lambda: read_contents(broker.broker.storage)).entries
        calls = list(log.calls)
    return Recording(calls, contents, transactions, {layout.epoch: layout for layout in layouts})


class BrokerThread:
    """A broker with its event loop in another thread, so that the client's calls may block in this one."""

    def __init__(self, directory: Path, disk: Disk, log: CallLog) -> None:
        self.broker = Broker(replace(CONFIG, storage=STORAGE))
        self._directory, self._disk, self._log = directory, disk, log
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="broker", daemon=True)

    def run(self, work: Callable[[], Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work(), self._loop).result(START_SECONDS)

    def __enter__(self) -> "BrokerThread":
        self._thread.start()
        self.run(self._start)
        return self

    async def _start(self) -> None:
        await self.broker.start(self._directory, disk=self._disk)
        factory = lambda: NotedConnection(self.broker, self._log)  # noqa: E731  # a protocol factory
        self._listener = await asyncio.get_running_loop().create_server(factory, "127.0.0.1", 0)
        self.url = f"pulsar://127.0.0.1:{self._listener.sockets[0].getsockname()[1]}"
        self.broker.service_url = self.url

    async def _stop(self) -> None:
        self._listener.close()
        await self.broker.stop()

    def __exit__(self, *_: object) -> None:
        self.run(self._stop)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(START_SECONDS)
        self._loop.close()


def drive(broker: BrokerThread, messages: int, log: CallLog) -> tuple[dict[int, Transaction], list[Layout]]:
    """Sends `messages` in total from three producers at once, while a consumer acknowledges the pipelined ones.

    Returns the transactions that run beside them, by ID, and the layouts of the scalable topic.
    """
    client = connect(broker.url)
    alone, batched = messages // 20, messages // 5
    pipelined = messages - alone - batched
    for topic in ("sync", "pipelined", "batched"):
        consumer = client.subscribe(topic, "keep")
        log.add(Subscribed(f"public/default/persistent/{topic}", "keep"))
        consumer.close()
    with ThreadPoolExecutor(6) as threads:
        transactions = threads.submit(run_transactions, broker.url, messages // 50)
        layouts = threads.submit(run_segments, broker.broker, broker.run, messages // 250, log)
        work = [
            threads.submit(send_each, client, alone),
            threads.submit(send_pipelined, client, "pipelined", pipelined, batching=False),
            threads.submit(send_pipelined, client, "batched", batched, batching=True),
            threads.submit(acknowledge, client, pipelined),
        ]
        for future in work:
            future.result()
    client.close()
    return transactions.result(), layouts.result()


def send_each(client: pulsar.Client, count: int) -> None:
    producer = client.create_producer("sync", batching_enabled=False)
    for index in range(count):
        producer.send(payload("sync", index))


def send_pipelined(client: pulsar.Client, topic: str, count: int, *, batching: bool) -> None:
    refused: list[pulsar.Result] = []

    def on_receipt(result: pulsar.Result, _: object) -> None:
        if result != pulsar.Result.Ok:
            refused.append(result)

    producer = client.create_producer(
        topic, batching_enabled=batching, batching_max_messages=10, block_if_queue_full=True, max_pending_messages=500
    )
    for index in range(count):
        producer.send_async(payload(topic, index), on_receipt)
    producer.flush()
    if refused:
        raise AssertionError(f"{len(refused)} messages of {topic} were refused, first with {refused[0]}")


def payload(topic: str, index: int) -> bytes:
    return f"{topic}-{index}".encode() * (1 + index % 40)


def acknowledge(client: pulsar.Client, count: int) -> None:
    consumer = client.subscribe(
        "pipelined", "acks", pulsar.ConsumerType.Shared, initial_position=pulsar.InitialPosition.Earliest
    )
    for index in range(count):
        message = consumer.receive(RECEIVE_MS)
        if index % 7:  # leaves gaps
            consumer.acknowledge(message)
    consumer.close()
