"""The official client and the command line, on the broker that tests share."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.support.official_client import connect
from tests.support.runner import Cli


@pytest.fixture
def client(pulsar_broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    with closing(connect(pulsar_broker.service_url)) as client:
        yield client


@pytest.fixture
def cli(pulsar_broker: EmbeddedBroker, tmp_path: Path) -> Cli:
    return Cli(tmp_path, pulsar_broker.http_url, pulsar_broker.service_url)
