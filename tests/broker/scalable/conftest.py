"""A new broker for each test, its admin API, and a raw client."""

from collections.abc import Iterator

import pytest

from broker_core.testing import EmbeddedBroker
from tests.broker.scalable.requests import Requests
from tests.support.raw_client import RawClient


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as started:
        yield started


@pytest.fixture
def admin(broker: EmbeddedBroker) -> Requests:
    return Requests(broker)


@pytest.fixture
def client(broker: EmbeddedBroker) -> Iterator[RawClient]:
    with RawClient(broker.service_url) as raw:
        yield raw
