"""kill -9 of the broker at the steps of an offload: nothing is lost, the rerun finishes, no object is left behind."""

import json
import os
import urllib.request
from pathlib import Path
from typing import Any

import pulsar
import pytest

from tests.broker.offload.conftest import S3
from tests.support.broker_process import BrokerProcess
from tests.support.condition import wait_until
from tests.support.fault_proxy import Request
from tests.support.offloaded_topic import values

TOPIC = "persistent/public/default/killed"
STEPS = (("PUT", ".parquet"), ("GET", ".parquet"), ("PUT", ".json"), ("GET", ".json"))
LATEST = (1 << 63) - 1
ROUNDS = int(os.environ.get("OFFLOAD_ROUNDS", "1"))  # `make offload-kills` asks for more


def rest(broker: BrokerProcess, method: str, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    url = f"{broker.http_url}/admin/v2/{path}"
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=20) as response:
        text = response.read()
    return json.loads(text) if text else None


def offload(broker: BrokerProcess) -> None:
    rest(broker, "PUT", f"{TOPIC}/offload", {"ledgerId": LATEST, "entryId": LATEST})


def publish(broker: BrokerProcess, sent: list[bytes]) -> None:
    """And seals the ledger."""
    client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    client.subscribe(f"{TOPIC.replace('/', '://', 1)}", "keeps").close()
    producer = client.create_producer(f"{TOPIC.replace('/', '://', 1)}", batching_enabled=False)
    for value in sent:
        producer.send(value)
    client.close()
    rest(broker, "PUT", f"{TOPIC}/unload")


def read(broker: BrokerProcess, count: int) -> list[bytes]:
    client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    reader = client.create_reader(f"{TOPIC.replace('/', '://', 1)}", pulsar.MessageId.earliest)
    found = [reader.read_next(20_000).data() for _ in range(count)]
    client.close()
    return found


def at(step: tuple[str, str]) -> Any:
    def matches(request: Request) -> bool:
        return request.method == step[0] and "/killed/" in request.path and request.path.endswith(step[1])

    return matches


@pytest.mark.slow
@pytest.mark.timeout(60 + 60 * ROUNDS)
def test_a_broker_killed_at_any_step_loses_nothing_and_leaves_no_object(s3: S3, tmp_path: Path) -> None:
    config = s3.config(deletion_lag_ms=0)
    broker = BrokerProcess(
        tmp_path / "d",
        f"managedLedgerOffloadDriver={config.driver}",
        f"s3ManagedLedgerOffloadBucket={config.s3_bucket}",
        "s3ManagedLedgerOffloadRegion=us-east-1",
        f"s3ManagedLedgerOffloadServiceEndpoint={config.s3_endpoint}",
        "managedLedgerOffloadDeletionLagMs=0",
        "offloadRemovalIntervalSeconds=0.1",
    ).start()
    sent = values(5)
    try:
        publish(broker, sent)
        for step in STEPS * ROUNDS:
            with s3.proxy.doing("hold", at(step)):
                offload(broker)
                assert s3.proxy.held.wait(30), step
                broker.kill()
                s3.proxy.release()
            broker.start()
            assert read(broker, len(sent)) == sent
        offload(broker)
        wait_until(lambda: rest(broker, "GET", f"{TOPIC}/offload")["status"] == "SUCCESS", 30)
        wait_until(lambda: not list((tmp_path / "d" / "ledgers").rglob("*.ledger")), 30)
        broker.kill()
        broker.start()
        assert read(broker, len(sent)) == sent
        rest(broker, "POST", "brokers/offload/audit?sweep=true")
        found = rest(broker, "POST", "brokers/offload/audit")
        assert (found["orphans"], found["missing"]) == ([], [])
        wait_until(lambda: len([path for path in s3.objects() if "/killed/" in path]) == 2, 30)
    finally:
        broker.kill()
