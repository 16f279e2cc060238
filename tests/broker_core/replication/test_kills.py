"""Replication between processes that are killed: nothing is lost, and a cluster that deduplicates repeats nothing.

`make replication-kills` runs more rounds. A round publishes while one side, the other, or both are killed with
kill -9 and started again.
"""

import os
import threading
from itertools import cycle, islice
from pathlib import Path

import pulsar
import pytest

from tests import official_client
from tests.broker_core.replication.clusters import admin, record_of
from tests.broker_process import BrokerProcess

ROUNDS = int(os.environ.get("REPLICATION_ROUNDS", "3"))
EACH = 200  # messages of a round
SETTINGS = (
    "brokerDeduplicationEnabled=true",
    "defaultRetentionTimeInMinutes=-1",  # so that what is stored can be counted
    "defaultRetentionSizeInMB=-1",
)
NAMESPACE = "public/geo"
TOPIC = f"persistent://{NAMESPACE}/t"


def prepare(own: BrokerProcess, other: BrokerProcess, name: str) -> None:
    admin(own.http_url, "PUT", f"clusters/{name}", record_of(other.service_url, other.http_url))
    admin(own.http_url, "POST", "tenants/public", {"allowedClusters": ["west", "east"], "adminRoles": []})
    admin(own.http_url, "PUT", f"namespaces/{NAMESPACE}")
    admin(own.http_url, "POST", f"namespaces/{NAMESPACE}/replication", ["west", "east"])


def publish(client: pulsar.Client, first: int) -> None:
    """Until each message has a receipt. Its producer sends again what a dead broker did not answer."""
    producer = client.create_producer(TOPIC, producer_name="p", batching_enabled=False, send_timeout_millis=0)
    for number in range(first, first + EACH):
        producer.send_async(b"%d" % number, None, sequence_id=number + 1)
    producer.flush()
    producer.close()


@pytest.mark.slow
def test_killed_clusters_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    west = BrokerProcess(tmp_path / "west", "clusterName=west", *SETTINGS).start()
    east = BrokerProcess(tmp_path / "east", "clusterName=east", *SETTINGS).start()
    try:
        prepare(west, east, "east")
        prepare(east, west, "west")
        of_west, of_east = (official_client.connect(one.service_url) for one in (west, east))
        consumer = of_east.subscribe(TOPIC, "s", initial_position=pulsar.InitialPosition.Earliest)
        found: list[int] = []
        for round_, victims in enumerate(islice(cycle([[east], [west], [west, east]]), ROUNDS)):
            publishing = threading.Thread(target=publish, args=(of_west, round_ * EACH))
            publishing.start()
            for victim in victims:
                victim.kill()
            for victim in victims:
                victim.start()
            publishing.join(60)
            assert not publishing.is_alive()
            while not found or found[-1] < (round_ + 1) * EACH - 1:
                message = consumer.receive(60_000)
                found.append(int(message.data()))
                consumer.acknowledge(message)
        first_time = list(dict.fromkeys(found))
        assert first_time == list(range(ROUNDS * EACH))
        assert stored_in(east) == ROUNDS * EACH  # what the consumer saw twice was redelivered, and is stored once
        of_west.close()
        of_east.close()
    finally:
        west.stop()
        east.stop()


def stored_in(broker: BrokerProcess) -> int:
    path = TOPIC.replace("://", "/")
    return int(admin(broker.http_url, "GET", f"{path}/internalStats")["entriesAddedCounter"])
