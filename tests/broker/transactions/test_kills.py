"""kill -9 in the middle of transactions: what was open stays open, and what was aborted stays hidden."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.frame import MessageFrame
from broker_core.wire.message import parse_entry
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.transactions.commands import begin, end, publish
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import subscribe
from tests.support.raw_publishing import producer

TOPIC = "persistent://public/default/killed"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path / "d", "transactionCoordinatorEnabled=true").start()
    yield process
    process.kill()


def connected(broker: BrokerProcess) -> RawClient:
    client = RawClient(broker.service_url)
    client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
    return client


def test_a_killed_broker_goes_on_with_its_transactions(broker: BrokerProcess) -> None:
    with connected(broker) as client:
        committed, aborted, open_one = begin(client), begin(client), begin(client)
        publish(client, 1, b"committed", committed)
        publish(client, 2, b"aborted", aborted)
        publish(client, 3, b"open", open_one)
        publish(client, 4, b"behind")
        end(client, committed, commit=True)
        end(client, aborted, commit=False)
    broker.kill()
    broker.start()
    with connected(broker) as client, RawClient(broker.service_url) as consumer:
        subscribe(consumer, TOPIC, initial_position=pb.CommandSubscribe.Earliest)
        assert payloads(consumer, 1) == [b"committed"]
        assert not end(client, committed, commit=True).HasField("error")  # as if the answer had been lost
        publish(client, 5, b"more", open_one)
        end(client, open_one, commit=True)
        assert payloads(consumer, 3) == [b"open", b"behind", b"more"]
        assert begin(client)["txnid_least_bits"] > open_one["txnid_least_bits"]


def payloads(consumer: RawClient, count: int) -> list[bytes]:
    messages = [consumer.next() for _ in range(count)]
    return [parse_entry(message.entry)[1] for message in messages if isinstance(message, MessageFrame)]
