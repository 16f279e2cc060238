"""The time of a seek by time into a large topic: from SEEK to SUCCESS, and to the first message after it."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from broker_core.config.storage import StorageConfig
from broker_core.names import ledger_name, parse_topic
from broker_core.storage.engine import StorageEngine
from broker_core.wire import client_commands, commands
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import BaseCommand, MessageMetadata
from tests.long.bench.brokers import scratch_dir
from tests.support.broker_process import BrokerProcess
from tests.support.official_client import connect
from tests.support.raw_client import RawClient

ENTRIES, RUN = 10_000_000, 10_000
FIRST_MS = 1_700_000_000_000  # one entry every millisecond
SEEKS = 15
TOPIC = "persistent://public/default/seek"


def seek(directory: Path) -> str:
    path = scratch_dir(directory, "seek")
    with BrokerProcess(path) as process:
        client = connect(process.service_url)
        client.subscribe(TOPIC, "s")  # keeps the messages
        client.close()
    asyncio.run(fill(path))
    with BrokerProcess(path) as process, RawClient(process.service_url) as client:
        answered, delivered = zip(*[seek_to(client, moment) for moment in moments()], strict=True)
    scratch_dir(directory, "seek")
    return (
        f"seek by time into {ENTRIES:,} entries: answered in {statistics.median(answered):.1f} ms, at most "
        f"{max(answered):.1f} ms; the first message {statistics.median(delivered):.1f} ms after subscribing again "
        f"({SEEKS} seeks at random, the first ones with nothing in memory)"
    )


@dataclass
class Run:
    """The same small message repeatedly, a millisecond apart."""

    data: bytes
    starts: list[int]
    ends: list[int]
    counts: list[int]
    publish_times: list[int]
    delivery_times: tuple[int, ...] = ()


async def fill(path: Path) -> None:
    engine = await StorageEngine.open(path, StorageConfig())
    ledger = await engine.open_ledger(ledger_name(parse_topic(TOPIC)))
    entry = build_entry(MessageMetadata(producer_name="p", sequence_id=0, publish_time=FIRST_MS), b"x")
    data, size = entry * RUN, len(entry)
    starts = list(range(0, RUN * size, size))
    ends = [start + size for start in starts]
    for first in range(0, ENTRIES, RUN):
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        times = list(range(FIRST_MS + first, FIRST_MS + first + RUN))
        run = Run(data, starts, ends, list(repeat(1, RUN)), times)
        ledger.append(run, lambda _, error, stored=stored: stored.set_result(None))  # type: ignore[misc]  # a default
        await stored
    await engine.close()


def moments() -> list[int]:
    chance = random.Random(1)
    return [FIRST_MS + chance.randrange(ENTRIES) for _ in range(SEEKS)]


def seek_to(client: RawClient, publish_time_ms: int) -> tuple[float, float]:
    """Milliseconds until SUCCESS, and from the new subscribe to the first message."""
    client.send(client_commands.subscribe(1, TOPIC, "s", 1))
    client.expect(BaseCommand.SUCCESS)
    started = time.perf_counter()
    client.send(client_commands.seek(1, 2, publish_time_ms=publish_time_ms))
    client.expect(BaseCommand.CLOSE_CONSUMER)
    client.expect(BaseCommand.SUCCESS)
    answered = time.perf_counter()
    client.send(client_commands.subscribe(3, TOPIC, "s", 1))
    client.expect(BaseCommand.SUCCESS)
    client.send(client_commands.flow(1, 1))
    client.expect(BaseCommand.MESSAGE)
    delivered = time.perf_counter()
    client.send(commands.close_consumer(1, 4))
    client.expect(BaseCommand.SUCCESS)
    return (answered - started) * 1000, (delivered - answered) * 1000
