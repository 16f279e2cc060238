"""Transactions: how many end in a second, how long a commit takes, and what a topic with very many of them costs."""

from __future__ import annotations

import asyncio
import statistics
import threading
import time
from contextlib import ExitStack, closing
from pathlib import Path

from broker_core.config.storage import StorageConfig
from broker_core.names import ledger_name, parse_topic
from broker_core.storage.engine import StorageEngine
from broker_core.topic.special_entries import MARKERS_PROPERTY
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import BaseCommand, MessageMetadata
from pulsarctl.admin.client import AdminClient
from pulsarctl.settings.settings import Settings
from tests.broker.transactions.commands import begin, end, publish
from tests.long.bench.brokers import scratch_dir
from tests.long.bench.procfs import resident_mb
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import subscribe
from tests.support.raw_publishing import producer, send
from tests.support.storage import run_of
from tests.support.transactions import transaction

SECONDS = 5.0
SHAPES = ((1, False), (16, False), (1, True), (16, True))  # loops, and whether each transaction acknowledges
ABORTED, OPEN = 100_000, 10_000
TOPIC = "persistent://public/default/transactions"
READY = 20_000  # messages to acknowledge, for each loop


def transactions(directory: Path) -> str:
    path = scratch_dir(directory, "transactions")
    with BrokerProcess(path) as process:
        lines = [_of_loops(process, loops, acknowledges=acks) for loops, acks in SHAPES]
    lines.append(_many(directory))
    scratch_dir(directory, "transactions")
    return "\n".join(lines)


def _of_loops(process: BrokerProcess, loops: int, *, acknowledges: bool) -> str:
    commits: list[float] = []
    threads = [
        threading.Thread(target=_loop, args=(process.service_url, f"{loops}-{n}", commits, acknowledges))
        for n in range(loops)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    percentiles = statistics.quantiles(commits, n=100)
    what = "a message and an acknowledgment" if acknowledges else "a message"
    return (
        f"transactions of {what}, {loops} at a time: {len(commits) / SECONDS:,.0f} in a second, "
        f"commit p50 {percentiles[49] * 1000:.2f} ms, p99 {percentiles[98] * 1000:.2f} ms"
    )


def _loop(url: str, name: str, commits: list[float], acknowledges: bool) -> None:
    with ExitStack() as stack:
        source, target, control = (stack.enter_context(RawClient(url)) for _ in range(3))
        target.ask(producer(f"{TOPIC}-out-{name}"), BaseCommand.PRODUCER_SUCCESS)
        ids = _messages(source, f"{TOPIC}-in-{name}") if acknowledges else []
        number = 0
        until = time.perf_counter() + SECONDS
        while time.perf_counter() < until:
            one = begin(control)
            publish(target, number, b"x" * 100, one)
            if acknowledges:
                named = one["txnid_most_bits"], one["txnid_least_bits"]
                source.send(client_commands.acknowledge(1, [ids[number]], request_id=1, transaction=named))
                source.expect(BaseCommand.ACK_RESPONSE)
            started = time.perf_counter()
            end(control, one, commit=True)
            commits.append(time.perf_counter() - started)
            number += 1


def _messages(client: RawClient, topic: str) -> list[pb.MessageIdData]:
    subscribe(client, topic, permits=0)
    client.ask(producer(topic), BaseCommand.PRODUCER_SUCCESS)
    ids = []
    for first in range(0, READY, 1000):
        client.send(b"".join(send(first + n, b"in") for n in range(1000)))
        ids += [client.expect(BaseCommand.SEND_RECEIPT).message_id for _ in range(1000)]
    return ids


def _many(directory: Path) -> str:
    path = scratch_dir(directory, "transactions-many")
    with BrokerProcess(path) as process:
        empty_mb = resident_mb(process.pid)
    asyncio.run(_fill(path))
    started = time.perf_counter()
    with BrokerProcess(path) as process, RawClient(process.service_url) as client:
        ready = time.perf_counter() - started
        subscribe(client, TOPIC, permits=0, initial_position=pb.CommandSubscribe.Earliest)
        known = _runs_known(process)
        client.send(client_commands.flow(1, 1))
        delivered = client.expect(BaseCommand.MESSAGE).message_id
        first = time.perf_counter() - started
        used_mb = resident_mb(process.pid) - empty_mb
        client.send(client_commands.acknowledge(1, [delivered], request_id=1))
        client.expect(BaseCommand.ACK_RESPONSE)
        left = _runs_known(process, trims=True)
    scratch_dir(directory, "transactions-many")
    return (
        f"one topic with {ABORTED:,} aborted and {OPEN:,} open transactions: started in {ready:.2f} s, the message "
        f"behind the aborted ones after {first:.2f} s, {used_mb:.0f} MB more than an empty broker; after a trim, "
        f"{left:,} of {known:,} runs of aborted messages are known"
    )


def _runs_known(process: BrokerProcess, *, trims: bool = False) -> int:
    """How many runs of aborted messages the broker knows, after a trim of what is acknowledged."""
    with closing(AdminClient(Settings(service_url=process.service_url, web_url=process.http_url))) as admin:
        if trims:
            admin.topics.trim(TOPIC)
        return int(admin.transactions.buffer_stats(TOPIC)["totalAbortedTransactions"])


async def _fill(path: Path) -> None:
    """A consumer has to pass all aborted messages before it gets the plain one, and the open ones come after it."""
    engine = await StorageEngine.open(path, StorageConfig(min_rollover_minutes=0))
    ledger = await engine.open_ledger(ledger_name(parse_topic(TOPIC)))
    ledger.note_properties({MARKERS_PROPERTY: "true"})  # as a topic does before its first transaction
    entry = build_entry(MessageMetadata(producer_name="p", sequence_id=0, publish_time=1), b"x")
    now_ms = engine.clock.wall_ms()
    for number in range(1, ABORTED + 1):
        ledger.append_in(transaction(number, now_ms), run_of(entry, counts=[1], times=[1]), lambda *_: None)
        engine.transactions.end(number, lambda _: None, commit=False)
        if not number % 10_000:
            await engine.checkpoint()
    ledger.append(run_of(entry, counts=[1], times=[1]), lambda *_: None)
    for number in range(ABORTED + 1, ABORTED + OPEN + 1):
        long = transaction(number, now_ms, ttl_ms=3_600_000)
        ledger.append_in(long, run_of(entry, counts=[1], times=[1]), lambda *_: None)
    await engine.checkpoint()
    await engine.close()
