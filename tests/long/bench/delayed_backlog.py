"""The memory of a million delayed messages on one subscription, while they arrive and after a restart."""

import json
import random
import time
from pathlib import Path
from urllib.request import urlopen

import pulsar

from tests.long.bench.brokers import scratch_dir
from tests.long.bench.procfs import cpu_seconds, peak_resident_mb, resident_mb
from tests.support.broker_process import BrokerProcess
from tests.support.condition import holds_within
from tests.support.official_client import connect

MESSAGES = 1_000_000
PAYLOAD = bytes(100)
LOADED_SECONDS = 600.0  # only a failing run takes this long
FIRST_DUE_MS, SPREAD_MS = 6 * 3600_000, 24 * 3600_000  # none is due while this runs
TOPIC, SUBSCRIPTION = "persistent://public/default/delayed-backlog", "s"


def delayed_backlog(directory: Path) -> str:
    with BrokerProcess(scratch_dir(directory, "delayed")) as process:
        idle = resident_mb(process.pid)
        client = connect(process.service_url)
        client.subscribe(TOPIC, SUBSCRIPTION, pulsar.ConsumerType.Shared)
        publish(client)
        all_held_back(process)
        loaded, peak = resident_mb(process.pid), peak_resident_mb(process.pid)
        client.close()
        process.kill()
        process.start()
        client = connect(process.service_url)
        started, busy = time.monotonic(), cpu_seconds(process.pid)
        client.subscribe(TOPIC, SUBSCRIPTION, pulsar.ConsumerType.Shared)
        all_held_back(process)
        took, busy = time.monotonic() - started, cpu_seconds(process.pid) - busy
        again = peak_resident_mb(process.pid)
        client.close()
    scratch_dir(directory, "delayed")
    return (
        f"{MESSAGES:,} delayed messages of {len(PAYLOAD)} bytes on a subscription: {loaded:.0f} MB resident, "
        f"{peak:.0f} MB at most ({idle:.0f} MB before); after kill -9 held back again within {took:.1f} s "
        f"({busy:.1f} s of CPU), {again:.0f} MB at most"
    )


def publish(client: pulsar.Client) -> None:
    producer = client.create_producer(TOPIC, block_if_queue_full=True, max_pending_messages=5000)
    chance, first = random.Random(1), time.time_ns() // 1_000_000 + FIRST_DUE_MS
    for _ in range(MESSAGES):
        producer.send_async(PAYLOAD, lambda *_: None, deliver_at=first + chance.randrange(SPREAD_MS))
    producer.flush()


def all_held_back(process: BrokerProcess) -> None:
    url = f"{process.http_url}/admin/v2/{TOPIC.replace('://', '/')}/stats"

    def are_held_back() -> bool:
        with urlopen(url) as response:
            stats = json.load(response)
        return bool(stats["subscriptions"][SUBSCRIPTION]["msgDelayed"] >= MESSAGES)

    assert holds_within(are_held_back, LOADED_SECONDS, interval=0.1), "the delayed messages are not held back again"
