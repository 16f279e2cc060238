from collections.abc import Iterator
from pathlib import Path

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
    name = request.node.name.replace("[", "-").replace("]", "")
    return f"persistent://public/default/{name}"


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The progress of imports is kept apart."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
