"""A directory of state files, and the command line on a broker."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from broker_core.testing import EmbeddedBroker
from tests.support.runner import Cli

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes text, or a document as YAML, into a file; returns its path."""

    def write(content: Any, name: str = "state.yaml") -> str:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
        return str(path)

    return write


@pytest.fixture(scope="module")
def run(pulsar_broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """The same as `cli`, for tests that many examples run in."""
    return Cli(tmp_path_factory.mktemp("home"), pulsar_broker.http_url, pulsar_broker.service_url)
