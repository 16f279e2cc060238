"""The readers of the row `tables`. Each reads the keys and values, or five columns, of a whole topic, and counts rows.

Readers of ours run in two processes, as Spark's tasks do on two cores; pyarrow reads Parquet with two threads.
"""

import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pulsar

from pulsarctl.iceberg.lake_place import LakePlace
from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.topic_table import TopicTable
from tests.support.official_client import connect

PROCESSES = 2
KEY_AND_VALUE = ("key", "value")
FIVE = (*KEY_AND_VALUE, "properties", "event_time", "sequence_id")
RECEIVE_MS = 30_000
START_SECONDS = 120.0


@dataclass(frozen=True)
class Took:
    """Wall time of one reading, and the processor time of those who read; without the broker's."""

    rows: int
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Source:
    """Where a topic is: at the broker, in its directory, in a tier store, and in the files of an Iceberg table."""

    service_url: str
    admin_url: str
    directory: Path
    tier: str
    lake: Path

    def options(self, topic: str, columns: Sequence[str], **more: str) -> dict[str, str]:
        where = {"service_url": self.service_url, "admin_url": self.admin_url, "topic": topic, "decode": "raw"}
        return where | {"columns": ",".join(columns)} | more


class Readers:
    """Its processes have imported everything before the first reading."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(PROCESSES, context, share, (context.Barrier(PROCESSES),))
        list(self._pool.map(meet, range(PROCESSES)))

    def close(self) -> None:
        self._pool.shutdown()

    def protocol(self, source: Source, topic: str, columns: Sequence[str]) -> Took:
        return self._read(source.options(topic, columns), lambda place: place == ("", ""))

    def files(self, source: Source, topic: str, columns: Sequence[str]) -> Took:
        options = source.options(topic, columns, data_directory=str(source.directory))
        return self._read(options, lambda place: bool(place[0]))

    def tier(self, source: Source, topic: str, columns: Sequence[str]) -> Took:
        return self._read(source.options(topic, columns, tier_store=source.tier), lambda place: bool(place[1]))

    def _read(self, options: dict[str, str], is_there: Callable[[tuple[str, str]], bool]) -> Took:
        """Raises ValueError for a part that would be read somewhere else."""
        table = TopicTable(TableOptions.parse(options))
        parts = table.plan()
        if not all(is_there(part.place) for part in parts):
            raise ValueError(f"not every part of {options} is where it should be")
        started = time.perf_counter()
        found = list(self._pool.map(read_part, [table] * len(parts), parts))
        seconds = time.perf_counter() - started
        return Took(sum(rows for rows, _ in found), seconds, sum(cpu for _, cpu in found))


def read_part(table: TopicTable, part: LedgerRange) -> tuple[int, float]:
    started = time.process_time()
    rows = sum(batch.num_rows for batch in table.read(part))
    return rows, time.process_time() - started


_all_started: Barrier


def share(barrier: Barrier) -> None:
    global _all_started  # what a process of a pool gets at its start lives as long as the process
    _all_started = barrier


def meet(_: int) -> None:
    """Returns when every process is here."""
    _all_started.wait(START_SECONDS)


def official(source: Source, topic: str, count: int) -> Took:
    """The plain loop of the official client, in one process: it has no other way to read."""
    client = connect(source.service_url)
    reader = client.create_reader(topic, pulsar.MessageId.earliest, receiver_queue_size=5000)
    started, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        message = reader.read_next(RECEIVE_MS)
        message.partition_key()
        message.data()
    took = Took(count, time.perf_counter() - started, time.process_time() - cpu)
    client.close()
    return took


def iceberg(source: Source, table: str, columns: Sequence[str]) -> Took:
    """pyiceberg's scan, from the catalog on."""

    def scan() -> int:
        catalog = LakePlace.of(str(source.lake), "").open()
        batches = catalog.load_table(table).scan(selected_fields=tuple(columns)).to_arrow_batch_reader()
        return sum(batch.num_rows for batch in batches)

    return timed(scan)


def parquet(source: Source, table: str, columns: Sequence[str]) -> Took:
    """The same files without a catalog."""
    import pyarrow.dataset as ds

    def scan() -> int:
        files = ds.dataset(source.lake / table.replace(".", "/") / "data", format="parquet")
        return sum(batch.num_rows for batch in files.to_batches(columns=list(columns)))

    return timed(scan)


def timed(scan: Callable[[], Any]) -> Took:
    started, cpu = time.perf_counter(), time.process_time()
    rows = scan()
    return Took(rows, time.perf_counter() - started, time.process_time() - cpu)
