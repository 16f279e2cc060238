"""Topics as tables: the protocol, ledger files, tier files, an Iceberg scan, and raw Parquet.

The yardstick is the plain loop of the official client over the same topic (key and value of each message, one process).
Readers take turns, round after round, and what counts is the median over the rounds of the ratio to the loop of the
same round, so that other load on the machine affects both. `cpu us` is processor time of the readers for each row;
`broker us` is the broker's, which shares the cores with them. MB/s count the values alone.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pulsarctl.iceberg.lake_place import LakePlace
from pulsarctl.iceberg.topic_lake import TopicLake
from tests.long.bench.brokers import scratch_dir
from tests.long.bench.procfs import cpu_seconds
from tests.long.bench.table import aligned
from tests.long.bench.table_readers import FIVE, KEY_AND_VALUE, Readers, Source, Took, iceberg, official, parquet
from tests.support.broker_process import PULSARCTL, BrokerProcess
from tests.support.official_client import connect

ROUNDS = 3
BATCH = 100
SETTINGS = (
    "managedLedgerMaxEntriesPerLedger=20000",
    "managedLedgerMinLedgerRolloverTimeMinutes=0",
    "offloadAllowedStores=*",
)
SCALE = float(os.environ.get("BENCH_TABLES_SCALE", "1"))
LOOP = "official loop"


@dataclass(frozen=True)
class Shape:
    name: str
    messages: int
    value_bytes: int
    batched: bool

    @property
    def title(self) -> str:
        return f"{'batched' if self.batched else 'unbatched'} {self.value_bytes} B"


SHAPES = (
    Shape("batched-small", int(1_000_000 * SCALE), 100, True),
    Shape("batched-large", int(300_000 * SCALE), 1000, True),
    Shape("single-small", int(200_000 * SCALE), 100, False),
    Shape("single-large", int(100_000 * SCALE), 1000, False),
)


class Run(NamedTuple):
    reader: str
    columns: str
    read: Callable[[], Took]


class Found(NamedTuple):
    took: Took
    broker_seconds: float
    ratio: float  # to the loop of the same round


def tables(directory: Path) -> str:
    folder, lake = scratch_dir(directory, "tables"), scratch_dir(directory, "tables-lake")
    tier = f"file://{scratch_dir(directory, 'tables-tier')}"
    with BrokerProcess(folder, *SETTINGS) as process:
        for shape in SHAPES:
            publish(process.service_url, shape)
    lines: list[list[str]] = []
    readers = Readers()
    with BrokerProcess(folder, *SETTINGS) as process:  # a start has a checkpoint, so the catalog knows all ledgers
        source = Source(process.service_url, process.http_url, process.data_dir, tier, lake)
        for shape in SHAPES:
            offload(process, shape.name, tier)
            table = TopicLake(LakePlace.of(str(lake), "")).keep(shape.name, in_files(source)).table
            lines += measured(shape, list(runs(readers, source, shape, table)), process.pid)
    readers.close()
    for name in ("tables", "tables-lake", "tables-tier"):
        scratch_dir(directory, name)
    header = ["topic", "reader", "columns", "k rows/s", "MB/s", "x loop", "cpu us", "broker us"]
    return f"topics as tables, medians of {ROUNDS} rounds\n{aligned(header, lines)}"


def runs(readers: Readers, source: Source, shape: Shape, table: str) -> Iterator[Run]:
    """The loop comes first."""
    yield Run(LOOP, "key, value", partial(official, source, shape.name, shape.messages))
    for title, columns in (("key, value", KEY_AND_VALUE), ("five", FIVE)):
        for name, reader in (("protocol", readers.protocol), ("ledger files", readers.files), ("tier", readers.tier)):
            yield Run(name, title, partial(reader, source, shape.name, columns))
        yield Run("Iceberg scan", title, partial(iceberg, source, table, columns))
        yield Run("Parquet", title, partial(parquet, source, table, columns))


def measured(shape: Shape, wanted: list[Run], broker: int) -> list[list[str]]:
    """Raises ValueError if a row is missing."""
    found: defaultdict[Run, list[Found]] = defaultdict(list)
    for _ in range(ROUNDS):
        loop = 0.0
        for run in wanted:
            before = cpu_seconds(broker)
            took = run.read()
            if took.rows != shape.messages:
                raise ValueError(f"{run.reader}, {shape.title}: {took.rows} rows instead of {shape.messages}")
            loop = loop or took.seconds
            found[run].append(Found(took, cpu_seconds(broker) - before, loop / took.seconds))
    return [line(shape, run, found[run]) for run in wanted]


def line(shape: Shape, run: Run, found: list[Found]) -> list[str]:
    rate = statistics.median(shape.messages / each.took.seconds for each in found)
    ratio = statistics.median(each.ratio for each in found)
    cpu = statistics.median(each.took.cpu_seconds for each in found) / shape.messages * 1e6
    broker = statistics.median(each.broker_seconds for each in found) / shape.messages * 1e6
    figures = [f"{rate / 1000:,.0f}", f"{rate * shape.value_bytes / 1e6:,.0f}", f"{ratio:.1f}"]
    return [shape.title, run.reader, run.columns, *figures, f"{cpu:.2f}", f"{broker:.2f}"]


def publish(url: str, shape: Shape) -> None:
    client = connect(url)
    client.subscribe(shape.name, "keeper").close()
    producer = client.create_producer(
        shape.name,
        batching_enabled=shape.batched,
        batching_max_messages=BATCH,
        block_if_queue_full=True,
        max_pending_messages=5000,
    )
    value = random.Random(1).randbytes(shape.value_bytes)
    for number in range(shape.messages):
        fields = {"partition_key": f"k{number % 1000}", "event_timestamp": 1_700_000_000_000 + number}
        producer.send_async(value, lambda *_: None, properties={"source": "bench"}, **fields)
    producer.flush()
    client.close()


def offload(process: BrokerProcess, topic: str, store: str) -> None:
    """All ledgers are sealed by now. Raises CalledProcessError."""
    environment = os.environ | {"PULSARCTL_ADMIN_URL": process.http_url, "PULSARCTL_SERVICE_URL": process.service_url}
    arguments = ("ops", "offload", topic, "--to", store)
    subprocess.run([PULSARCTL, *arguments], env=environment, capture_output=True, check=True)


def in_files(source: Source) -> dict[str, str]:
    """The lake is filled from ledger files."""
    return {
        "service_url": source.service_url,
        "admin_url": source.admin_url,
        "data_directory": str(source.directory),
        "decode": "raw",
    }
