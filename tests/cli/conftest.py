"""`cli` runs the program against an embedded broker, `cli_alone` without one; `client` is the official client."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.support.every_store import EVERY_STORE
from tests.support.official_client import connect
from tests.support.runner import Cli

# In the background or under nohup, these signals are ignored, which every program that a test interrupts would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="module")
def pulsar_broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=EVERY_STORE) as broker:
        yield broker


@pytest.fixture
def cli(tmp_path: Path, pulsar_broker: EmbeddedBroker) -> Cli:
    return Cli(tmp_path, pulsar_broker.http_url, pulsar_broker.service_url)


@pytest.fixture
def cli_alone(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture
def client(pulsar_broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    client = connect(pulsar_broker.service_url)
    yield client
    client.close()


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A new topic for each test, with a short name: that of the test."""
    return str(request.node.name).replace("[", "-").replace("]", "")
