"""Exports and lakes of a topic with an open transaction: what follows it is left to the next run."""

from pathlib import Path

import pytest

from broker_core.testing import EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.transactions.commands import begin, end, publish
from tests.cli.transfer.moved_topics import Continued, export, lake, rows
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer


@pytest.mark.parametrize("continued", [lake, export])
def test_messages_of_an_open_transaction_are_in_the_run_after_its_end(
    pulsar_broker: EmbeddedBroker, topic: str, tmp_path: Path, continued: Continued
) -> None:
    command = continued(topic, tmp_path / "out")
    with RawClient(pulsar_broker.service_url) as client:
        client.ask(producer(topic), BaseCommand.PRODUCER_SUCCESS)
        publish(client, 0, b"before")
        transaction = begin(client)
        publish(client, 1, b"in it", transaction)
        publish(client, 2, b"after")
        assert rows(pulsar_broker, *command) == 1
        end(client, transaction, commit=True)
    assert rows(pulsar_broker, *command) == 2
