"""The official Python client against our broker: each test gets a client and a fresh topic name."""

import contextlib
from collections.abc import Iterator

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker

TIMEOUT_MS = 10_000


@pytest.fixture
def client(pulsar_broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    client = pulsar.Client(
        pulsar_broker.service_url,
        operation_timeout_seconds=10,
        logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error),
    )
    yield client
    # A producer of a terminated or deleted topic closes itself, perhaps during this call, which then says so.
    with contextlib.suppress(pulsar.AlreadyClosed):
        client.close()


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return f"persistent://public/default/{request.node.name.replace('[', '-').replace(']', '')}"
