"""A gigabyte to an S3 server on this machine (moto) and back: `ops offload`, ranged reads, `ops verify`, `ops restore`.

The local files are removed as soon as the copies are verified, so every read goes to the store. A first read of an
entry fetches its row group; a warm one finds it in the broker's cache. Both are admin requests for one entry, so they
contain a round trip to the broker.
"""

import os
import random
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from pulsarctl.admin.client import AdminClient
from pulsarctl.settings.settings import Settings
from tests.long.bench.brokers import scratch_dir
from tests.long.bench.large_topic import publish
from tests.support.broker_process import PULSARCTL, BrokerProcess
from tests.support.condition import wait_until
from tests.support.official_client import connect

TOPIC = "persistent://public/default/tiered"
BATCHES, BATCH, VALUE_BYTES = 10_000, 100, 1000
BUCKET = "tier"
READS = 200
SETTINGS = (
    "managedLedgerMaxEntriesPerLedger=1000",
    "managedLedgerMinLedgerRolloverTimeMinutes=0",
    "managedLedgerOffloadDeletionLagMs=0",
    "offloadRemovalIntervalSeconds=0.1",
)
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_EC2_METADATA_DISABLED": "true"}
READY_SECONDS = 60.0


def offload(directory: Path) -> str:
    os.environ.update(CREDENTIALS)  # the server accepts any
    with s3_server(scratch_dir(directory, "moto.log")) as port:
        broker = BrokerProcess(scratch_dir(directory, "offload"), *SETTINGS, f"offloadAllowedStores={store_uri(port)}")
        with broker:
            fill(broker)
        with broker:  # a start seals the last ledger
            figures = list(round_trip(broker, port))
    scratch_dir(directory, "offload")
    return f"offload of {BATCHES * BATCH * VALUE_BYTES / 1e9:.1f} GB to S3 on this machine: {'; '.join(figures)}"


def round_trip(broker: BrokerProcess, port: int) -> Iterator[str]:
    yield rate("offload", command(broker, "offload", TOPIC, "--to", store_uri(port)))
    wait_until(lambda: not list((broker.data_dir / "ledgers").rglob("*.ledger")), READY_SECONDS)
    with closing(AdminClient(Settings(service_url=broker.service_url, web_url=broker.http_url))) as admin:
        places = chosen_entries(admin)
        yield "first read " + percentiles([read_ms(admin, *place) for place in places])
        yield "warm read " + percentiles([read_ms(admin, *places[-1]) for _ in range(READS)])
    yield rate("verify through the broker", command(broker, "verify", TOPIC, "--engine", "local"))
    yield rate("verify from the store", command(broker, "verify", TOPIC, "--engine", "local", *in_store(port)))
    yield rate("restore", command(broker, "restore", TOPIC))


def fill(broker: BrokerProcess) -> None:
    client = connect(broker.service_url)
    client.subscribe(TOPIC, "keeper").close()
    client.close()
    publish(broker.service_url, TOPIC, batches=BATCHES, messages=BATCH, value_bytes=VALUE_BYTES)


def store_uri(port: int) -> str:
    return f"s3://{BUCKET}/bench?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"


def in_store(port: int) -> tuple[str, str]:
    return "--tier-store", store_uri(port)


def command(broker: BrokerProcess, *arguments: str) -> float:
    """Seconds as seen from a shell. Raises CalledProcessError."""
    environment = os.environ | {"PULSARCTL_ADMIN_URL": broker.http_url, "PULSARCTL_SERVICE_URL": broker.service_url}
    started = time.perf_counter()
    subprocess.run([PULSARCTL, "ops", *arguments], env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def rate(name: str, seconds: float) -> str:
    return f"{name} {seconds:.1f} s, {BATCHES * BATCH * VALUE_BYTES / 1e6 / seconds:.0f} MB/s"


def chosen_entries(admin: AdminClient) -> list[tuple[int, int]]:
    """Places far from each other: each is in a row group of its own that was not read before."""
    ledgers = admin.topics.internal_stats(TOPIC)["ledgers"]
    every = [(ledger["ledgerId"], entry) for ledger in ledgers for entry in range(0, ledger["entries"], 50)]
    return random.Random(1).sample(every, min(READS, len(every)))


def read_ms(admin: AdminClient, ledger: int, entry: int) -> float:
    started = time.perf_counter()
    admin.topics.message(TOPIC, ledger, entry)
    return (time.perf_counter() - started) * 1000


def percentiles(times: list[float]) -> str:
    cuts = statistics.quantiles(times, n=100)
    return f"p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms"


@contextmanager
def s3_server(log: Path) -> Iterator[int]:
    """Its port, when it answers and has the bucket."""
    from pyarrow import fs

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    with log.open("wb") as output:
        arguments = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        server = subprocess.Popen(arguments, stdout=output, stderr=output)
    try:
        wait_until(lambda: answers(port), READY_SECONDS)
        where = {"endpoint_override": f"127.0.0.1:{port}", "scheme": "http", "region": "us-east-1"}
        fs.S3FileSystem(**where, allow_bucket_creation=True).create_dir(BUCKET)
        yield port
    finally:
        server.terminate()
        server.wait()


def answers(port: int) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0
