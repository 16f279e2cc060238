"""What a client made the broker hold is free when the client is gone, without waiting for the garbage collector."""

import tracemalloc
import urllib.request
from collections.abc import Iterator

import pytest

from broker_core.testing import EmbeddedBroker
from tests.support.collector import collector_off
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import send

MB = 1 << 20
UNFINISHED = send(1, bytes(4 * MB))[: 3 * MB]


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        urllib.request.urlopen(f"{broker.http_url}/admin/v2/clusters").close()  # tracing would slow its imports down
        with collector_off():
            tracemalloc.start()
            yield broker
            tracemalloc.stop()


def traced() -> int:
    return tracemalloc.get_traced_memory()[0]


def test_an_unfinished_frame_goes_with_its_connection(broker: EmbeddedBroker) -> None:
    with RawClient(broker.service_url) as client:
        before = traced()
        client.send(UNFINISHED)
        wait_until(lambda: traced() > before + 2 * MB, 20.0)
    wait_until(lambda: traced() < before + MB, 20.0)
