"""A cluster that is away does not slow down those who publish: alternately to a replicated topic and to another one.

`make replication-latency` publishes more, and compares the 99th percentiles.
"""

import os
import time
from pathlib import Path

import pulsar
import pytest

from tests.support import official_client
from tests.support.broker_process import BrokerProcess
from tests.support.clusters import admin, record_of

PUBLISHES = int(os.environ.get("REPLICATION_PUBLISHES", "300"))  # to each topic
PERCENTILES_FROM = 10_000  # publishes; fewer say nothing about the slowest ones
MOST = 1.1  # of the latency without replication
NOWHERE = record_of("pulsar://127.0.0.1:1", "http://127.0.0.1:1")


def seconds_of(producer: pulsar.Producer, payload: bytes) -> float:
    began = time.perf_counter()
    producer.send(payload)
    return time.perf_counter() - began


def percentile(seconds: list[float], share: float) -> float:
    return sorted(seconds)[int(len(seconds) * share)]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_cluster_that_is_away_does_not_slow_down_publishing(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "west", "clusterName=west") as west:
        admin(west.http_url, "PUT", "clusters/east", NOWHERE)
        admin(west.http_url, "POST", "tenants/public", {"allowedClusters": ["west", "east"], "adminRoles": []})
        for name, clusters in (("alone", ["west"]), ("geo", ["west", "east"])):
            admin(west.http_url, "PUT", f"namespaces/public/{name}")
            admin(west.http_url, "POST", f"namespaces/public/{name}/replication", clusters)
        client = official_client.connect(west.service_url)
        alone, replicated = (client.create_producer(f"persistent://public/{name}/t") for name in ("alone", "geo"))
        taken = [(seconds_of(alone, b"x" * 100), seconds_of(replicated, b"x" * 100)) for _ in range(PUBLISHES)]
        client.close()
        stats = admin(west.http_url, "GET", "persistent/public/geo/t/stats")["replication"]["east"]
    assert (stats["connected"], stats["replicationBacklog"]) == (False, PUBLISHES)
    without, away = (list(one) for one in zip(*taken, strict=True))
    ratios = {share: percentile(away, share) / percentile(without, share) for share in (0.5, 0.99)}
    print(  # noqa: T201  # for `make replication-latency`
        f"{PUBLISHES} publishes each: p50 {percentile(away, 0.5) * 1e3:.2f} ms ({ratios[0.5]:.0%} of without "
        f"replication), p99 {percentile(away, 0.99) * 1e3:.2f} ms ({ratios[0.99]:.0%})"
    )
    assert ratios[0.5] < 2
    assert ratios[0.99] <= MOST or PUBLISHES < PERCENTILES_FROM
