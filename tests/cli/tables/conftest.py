from collections.abc import Iterator

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.support.official_client import connect

pytest.importorskip("pyarrow")


@pytest.fixture
def client(pulsar_broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    client = connect(pulsar_broker.service_url)
    yield client
    client.close()


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return f"persistent://public/default/{request.node.name}"
