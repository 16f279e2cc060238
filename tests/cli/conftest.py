"""`cli`: the program against a broker of our own; `cli_alone`: without any."""

from pathlib import Path

import pytest

from broker_core.testing import EmbeddedBroker
from tests.cli.runner import Cli


@pytest.fixture
def cli(tmp_path: Path, pulsar_broker: EmbeddedBroker) -> Cli:
    return Cli(tmp_path, pulsar_broker.http_url, pulsar_broker.service_url)


@pytest.fixture
def cli_alone(tmp_path: Path) -> Cli:
    return Cli(tmp_path)
