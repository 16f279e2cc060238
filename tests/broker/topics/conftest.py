"""A broker without listeners, for the tests of its topics."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from broker_core.broker import Broker
from broker_core.config.broker import BrokerConfig


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    broker = Broker(BrokerConfig())
    await broker.start(tmp_path)
    yield broker
    await broker.stop()
