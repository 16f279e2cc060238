"""A broker and a client that sends single commands."""

from collections.abc import Iterator

import pytest

from broker_core.testing import EmbeddedBroker
from tests.raw_client import RawClient


@pytest.fixture
def broker(pulsar_broker: EmbeddedBroker) -> EmbeddedBroker:
    """The broker that the tests of a module share. A module that needs another one overrides this."""
    return pulsar_broker


@pytest.fixture
def raw(broker: EmbeddedBroker) -> Iterator[RawClient]:
    with RawClient(broker.service_url) as client:
        yield client
