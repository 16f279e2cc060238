"""A broker, a client that sends single commands, and a disk that can fail."""

from collections.abc import Iterator

import pytest

from broker_core.testing import EmbeddedBroker
from tests.support.faulty_disk import FaultyDisk
from tests.support.raw_client import RawClient


@pytest.fixture
def broker(pulsar_broker: EmbeddedBroker) -> EmbeddedBroker:
    """The broker that the tests of a module share. A module that needs another one overrides this."""
    return pulsar_broker


@pytest.fixture
def raw(broker: EmbeddedBroker) -> Iterator[RawClient]:
    with RawClient(broker.service_url) as client:
        yield client


@pytest.fixture
def disk() -> FaultyDisk:
    """For a broker of the test's own."""
    return FaultyDisk()
