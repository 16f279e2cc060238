"""Topics as Arrow tables, through the protocol and from ledger files, beside the official client's plain loop."""

from __future__ import annotations

import multiprocessing
import random
import time
from pathlib import Path

import pulsar

from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.topic_table import TopicTable
from tests.bench.brokers import scratch_dir
from tests.broker_process import BrokerProcess
from tests.official_client import connect

MESSAGES = {"batched": 400_000, "single": 80_000}
VALUE_BYTES = 200
PROCESSES = 2
SETTINGS = ("managedLedgerMaxEntriesPerLedger=2000", "managedLedgerMinLedgerRolloverTimeMinutes=0")
KEY_AND_VALUE = "key,value"
FIVE = "key,value,properties,event_time,sequence_id"
RECEIVE_MS = 30_000

_SPAWN = multiprocessing.get_context("spawn")


def tables(directory: Path) -> str:
    """Rows a second on two processes, and the official loop on one; the files are those of sealed ledgers."""
    folder = scratch_dir(directory, "tables")
    with BrokerProcess(folder, *SETTINGS) as process:
        for topic in MESSAGES:
            publish(process.service_url, topic)
    found = []
    with BrokerProcess(folder, *SETTINGS) as process:  # a start has a checkpoint, so the catalog knows all ledgers
        for topic, count in MESSAGES.items():
            loop = count / official(process.service_url, topic, count)
            rates = [f"official loop {loop / 1000:,.0f}"]
            for name, columns, files in (
                ("protocol, key and value", KEY_AND_VALUE, False),
                ("protocol, five columns", FIVE, False),
                ("files, key and value", KEY_AND_VALUE, True),
                ("files, five columns", FIVE, True),
            ):
                rate = count / read(process, topic, columns, count, files=files)
                rates.append(f"{name} {rate / 1000:,.0f} ({rate / loop:.1f} x)")
            found.append(f"{topic}: {', '.join(rates)}")
    scratch_dir(directory, "tables")
    return (
        f"topics as tables, {VALUE_BYTES} B values, thousand rows a second on {PROCESSES} processes; {'; '.join(found)}"
    )


def publish(url: str, topic: str) -> None:
    client = connect(url)
    client.subscribe(topic, "keeper").close()
    producer = client.create_producer(
        topic,
        batching_enabled=topic == "batched",
        batching_max_messages=100,
        block_if_queue_full=True,
        max_pending_messages=5000,
    )
    value = random.Random(1).randbytes(VALUE_BYTES)
    for number in range(MESSAGES[topic]):
        fields = {"partition_key": f"k{number % 1000}", "event_timestamp": 1_700_000_000_000 + number}
        producer.send_async(value, lambda *_: None, properties={"source": "bench"}, **fields)
    producer.flush()
    client.close()


def official(url: str, topic: str, count: int) -> float:
    """Seconds."""
    client = connect(url)
    reader = client.create_reader(topic, pulsar.MessageId.earliest, receiver_queue_size=5000)
    started = time.perf_counter()
    for _ in range(count):
        reader.read_next(RECEIVE_MS).data()
    took = time.perf_counter() - started
    client.close()
    return took


def read(process: BrokerProcess, topic: str, columns: str, count: int, *, files: bool) -> float:
    """Seconds. Raises ValueError if a row is missing."""
    options = {
        "service_url": process.service_url,
        "admin_url": process.http_url,
        "topic": topic,
        "columns": columns,
        "data_directory": str(process.data_dir) if files else "",
    }
    table = TopicTable(TableOptions.parse(options))
    parts = [(table, part) for part in table.plan()]
    with _SPAWN.Pool(PROCESSES) as pool:
        pool.map(warm, range(PROCESSES))
        started = time.perf_counter()
        rows = sum(pool.imap_unordered(rows_of, parts))
        took = time.perf_counter() - started
    if rows != count:
        raise ValueError(f"{rows} rows instead of {count}")
    return took


def rows_of(work: tuple[TopicTable, LedgerRange]) -> int:
    table, part = work
    return sum(batch.num_rows for batch in table.read(part))


def warm(_: int) -> None:
    """Imports take place before the clock starts."""
