"""`ops backlog` on a standalone Spark cluster. Its executors use the Python environment of the driver."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pulsar
import pytest

pytest.importorskip("pyspark")

from broker_core.testing import EmbeddedBroker
from tests.cli.spark.standalone_cluster import free_port, standalone_cluster

PULSARCTL = Path(sys.executable).with_name("pulsarctl")
MESSAGES = 300


@pytest.mark.spark
@pytest.mark.slow
def test_a_cluster_finds_what_the_local_engine_finds(pulsar_broker: EmbeddedBroker, tmp_path: Path) -> None:
    publish(pulsar_broker)
    local = backlog(pulsar_broker, tmp_path, "--engine", "local")
    with standalone_cluster(tmp_path, free_port()) as url:
        cluster = backlog(pulsar_broker, tmp_path, "--engine", "spark", "--master", url)
    assert (local["messages"], cluster["messages"]) == (MESSAGES, MESSAGES)
    for name in ("entries", "bytes", "keys", "sizes", "largest", "producers"):
        assert cluster[name] == local[name]


def backlog(broker: EmbeddedBroker, directory: Path, *arguments: str) -> dict[str, object]:
    where = ("--admin-url", broker.http_url, "--url", broker.service_url, "--no-context")
    settings = ("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.executor.memory=512m")
    answer = subprocess.run(
        [PULSARCTL, *where, "ops", "backlog", "orders", "--details", "-o", "jsonl", *settings, *arguments],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=110,
        check=True,
    )
    found: dict[str, object] = json.loads(answer.stdout)
    return found


def publish(broker: EmbeddedBroker) -> None:
    client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    client.subscribe("orders", "s").close()
    producer = client.create_producer("orders", batching_enabled=True)
    for number in range(MESSAGES):
        producer.send_async(b"x" * number, None, partition_key=f"k{number % 7}")
    producer.flush()
    client.close()
