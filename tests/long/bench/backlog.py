"""Wall time of `ops backlog` as seen from a shell, with both engines."""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tests.long.bench.brokers import scratch_dir
from tests.support.broker_process import BrokerProcess
from tests.support.official_client import connect

PULSARCTL = Path(sys.executable).with_name("pulsarctl")
MESSAGES, VALUE = 1000, b"x" * 200
RUNS = 3
LIMITS_SECONDS = {"auto": 2.0, "spark": 8.0}


def backlog(directory: Path) -> str:
    """The first run with Spark writes the class archive, unless there is one, so it does not count."""
    with BrokerProcess(scratch_dir(directory, "backlog")) as process:
        publish(process.service_url)
        addresses = {"PULSARCTL_ADMIN_URL": process.http_url, "PULSARCTL_SERVICE_URL": process.service_url}
        environment = os.environ | addresses | {"PULSARCONFIG": str(directory / "no-contexts")}
        seconds("spark", environment)
        found = {
            engine: statistics.median(seconds(engine, environment) for _ in range(RUNS)) for engine in LIMITS_SECONDS
        }
    figures = ", ".join(f"{engine} {found[engine]:.2f} s (limit {LIMITS_SECONDS[engine]:g} s)" for engine in found)
    return f"`pulsarctl ops backlog` of {MESSAGES:,} messages: {figures} (medians of {RUNS})"


def publish(service_url: str) -> None:
    client = connect(service_url)
    client.subscribe("orders", "s")
    producer = client.create_producer("orders", batching_enabled=True)
    for number in range(MESSAGES):
        producer.send_async(VALUE, None, partition_key=f"key-{number % 50}")
    producer.flush()
    client.close()


def seconds(engine: str, environment: dict[str, str]) -> float:
    started = time.perf_counter()
    arguments = ("ops", "backlog", "orders", "--engine", engine, "-o", "json")
    answer = subprocess.run([PULSARCTL, *arguments], env=environment, capture_output=True, check=True, text=True)
    assert f'"messages": {MESSAGES},' in answer.stdout
    return time.perf_counter() - started
