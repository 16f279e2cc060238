"""A broker that may open 64 files."""

from pathlib import Path

import pytest

from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.broker_process import PULSARCTL, BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, send

pytestmark = pytest.mark.feature("durability")

TOPICS = 100
LIMITED = ("bash", "-c", f'ulimit -n 64; exec {PULSARCTL} standalone "$@"', "bash")


def test_a_broker_with_64_descriptors_starts_again_with_more_topics_than_that(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data", program=LIMITED)
    with broker, RawClient(broker.service_url) as raw:
        for number in range(TOPICS):
            raw.ask(producer(f"persistent://public/default/t{number}", number, number), BaseCommand.PRODUCER_SUCCESS)
            raw.send(send(0, producer_id=number))
            raw.expect(BaseCommand.SEND_RECEIPT)
    with broker, RawClient(broker.service_url) as raw:
        raw.ask(producer("persistent://public/default/t1"), BaseCommand.PRODUCER_SUCCESS)
    assert "ERROR" not in broker.log_tail()
