"""A client process that keeps running while its broker is killed and restarted."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest

from tests.clients.conftest import TIMEOUT_MS
from tests.support.broker_process import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.feature("durability")]

GOES_ON_WITHIN_MS = 5_000


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    broker = BrokerProcess(tmp_path / "data").start()
    yield broker
    broker.stop()


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[pulsar.Client]:
    client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    yield client
    client.close()


class Publisher(threading.Thread):
    """Publishes numbers until stopped; keeps an error of `send`."""

    def __init__(self, producer: pulsar.Producer) -> None:
        super().__init__(daemon=True)
        self.producer = producer
        self.sent = 0
        self.error: Exception | None = None
        self.done = threading.Event()

    def run(self) -> None:
        try:
            while not self.done.is_set():
                self.producer.send(str(self.sent).encode())
                self.sent += 1
        except Exception as error:
            self.error = error


def receive_new(consumer: pulsar.Consumer, seen: list[int], count: int) -> None:
    """Receives until it has `count` new numbers; duplicates are allowed, gaps are not."""
    highest = max(seen, default=-1)
    wanted = highest + count
    while highest < wanted:
        message = consumer.receive(timeout_millis=GOES_ON_WITHIN_MS)
        consumer.acknowledge(message)
        number = int(message.data())
        assert number <= highest + 1, f"{number} came after {highest}: something was skipped"
        highest = max(highest, number)
        seen.append(number)


def test_clients_live_through_kill_9_and_restart(broker: BrokerProcess, client: pulsar.Client) -> None:
    exclusive = client.subscribe("restart", "exclusive")
    shared = client.subscribe("restart", "shared", pulsar.ConsumerType.Shared)
    publisher = Publisher(client.create_producer("restart", producer_name="named"))
    publisher.start()
    in_order: list[int] = []
    dealt: list[int] = []
    receive_new(exclusive, in_order, 200)
    receive_new(shared, dealt, 200)
    for _ in range(3):
        broker.kill()
        broker.start()
        receive_new(exclusive, in_order, 200)
        receive_new(shared, dealt, 200)
    publisher.done.set()
    publisher.join(timeout=30)
    assert publisher.error is None
    receive_new(exclusive, in_order, publisher.sent - 1 - max(in_order))
    receive_new(shared, dealt, publisher.sent - 1 - max(dealt))
    assert set(in_order) == set(dealt) == set(range(publisher.sent))


FROZEN_CLIENT = """
import pulsar, sys
client = pulsar.Client(sys.argv[1], logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))  # it logs to stdout
consumer = client.subscribe("frozen", "s")
producer = client.create_producer("frozen", producer_name="p")
print("ready", flush=True)
consumer.receive()
"""


def test_a_frozen_client_is_replaced_by_another(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data", "connectionLivenessCheckTimeoutMillis=1000").start()
    frozen = subprocess.Popen(
        [sys.executable, "-c", FROZEN_CLIENT, broker.service_url],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    try:
        assert frozen.stdout is not None
        assert frozen.stdout.readline() == "ready\n"
        with pytest.raises(pulsar.ConsumerBusy):
            client.subscribe("frozen", "s")
        with pytest.raises(pulsar.ProducerBusy):
            client.create_producer("frozen", producer_name="p")
        frozen.send_signal(signal.SIGSTOP)
        os.waitpid(frozen.pid, os.WUNTRACED)  # it has stopped
        consumer = client.subscribe("frozen", "s")
        client.create_producer("frozen", producer_name="p").send(b"mine")
        assert consumer.receive(timeout_millis=TIMEOUT_MS).data() == b"mine"
    finally:
        frozen.kill()
        frozen.communicate()
        client.close()
        broker.stop()
