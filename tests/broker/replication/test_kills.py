"""Replication through faults: nothing is lost, and a cluster that deduplicates repeats nothing.

`make replication-kills` runs more rounds of each fault. A round publishes in one cluster while that one, the other one,
or both are killed with kill -9 and started again, or while the network between them is cut, or slow.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pulsar
import pytest

from tests.support import official_client
from tests.support.broker_process import BrokerProcess
from tests.support.clusters import admin, record_of
from tests.support.network_relay import NetworkRelay

ROUNDS = int(os.environ.get("REPLICATION_ROUNDS", "1"))  # of each fault
EACH = 200  # messages of a round
SLOW = 20_000  # bytes per second
SETTINGS = (
    "brokerDeduplicationEnabled=true",
    "defaultRetentionTimeInMinutes=-1",  # so that what is stored can be counted
    "defaultRetentionSizeInMB=-1",
)
NAMESPACE = "public/geo"
TOPIC = f"persistent://{NAMESPACE}/t"


def prepare(own: BrokerProcess, record: dict[str, str], name: str) -> None:
    admin(own.http_url, "PUT", f"clusters/{name}", record)
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


@dataclass
class Pair:
    """Two clusters. What west sends to east passes through the network."""

    west: BrokerProcess
    east: BrokerProcess
    network: NetworkRelay

    @contextlib.contextmanager
    def remote_killed(self) -> Iterator[None]:
        self.east.kill()
        self.east.start()
        yield

    @contextlib.contextmanager
    def local_killed(self) -> Iterator[None]:
        self.west.kill()
        self.west.start()
        yield

    @contextlib.contextmanager
    def both_killed(self) -> Iterator[None]:
        self.west.kill()
        self.east.kill()
        self.west.start()
        self.east.start()
        yield

    @contextlib.contextmanager
    def network_cut(self) -> Iterator[None]:
        self.network.cut()
        yield
        self.network.heal()

    @contextlib.contextmanager
    def network_slow(self) -> Iterator[None]:
        self.network.slow(SLOW)
        yield
        self.network.heal()

    @property
    def faults(self) -> tuple[Callable[[], contextlib.AbstractContextManager[None]], ...]:
        return self.remote_killed, self.local_killed, self.both_killed, self.network_cut, self.network_slow


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with (
        BrokerProcess(tmp_path / "west", "clusterName=west", *SETTINGS) as west,
        BrokerProcess(tmp_path / "east", "clusterName=east", *SETTINGS) as east,
        NetworkRelay(east.service_url) as network,
    ):
        prepare(west, record_of(network.url, east.http_url), "east")
        prepare(east, record_of(west.service_url, west.http_url), "west")
        yield Pair(west, east, network)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_faults_lose_nothing_and_repeat_nothing(pair: Pair) -> None:
    of_west, of_east = (official_client.connect(one.service_url) for one in (pair.west, pair.east))
    consumer = of_east.subscribe(TOPIC, "s", initial_position=pulsar.InitialPosition.Earliest)
    found: list[int] = []
    for round_, fault in enumerate(pair.faults * ROUNDS):
        publishing = threading.Thread(target=publish, args=(of_west, round_ * EACH))
        publishing.start()
        with fault():
            publishing.join(60)
            assert not publishing.is_alive()
        while not found or found[-1] < (round_ + 1) * EACH - 1:
            message = consumer.receive(120_000)
            found.append(int(message.data()))
            consumer.acknowledge(message)
        print(f"round {round_ + 1}: {fault.__name__}, {len(found)} messages so far")  # noqa: T201  # for `make`
    total = len(pair.faults) * ROUNDS * EACH
    assert list(dict.fromkeys(found)) == list(range(total))
    assert stored_in(pair.east) == total  # what the consumer saw twice was redelivered, and is stored once
    of_west.close()
    of_east.close()


def stored_in(broker: BrokerProcess) -> int:
    path = TOPIC.replace("://", "/")
    return int(admin(broker.http_url, "GET", f"{path}/internalStats")["entriesAddedCounter"])
