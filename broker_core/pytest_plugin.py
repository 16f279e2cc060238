"""The pytest fixture `pulsar_broker`: an embedded broker, started for the first test of a module that uses it.

The package registers this pytest plugin, so that tests only name the fixture:

    def test_it(pulsar_broker):
        client = pulsar.Client(pulsar_broker.service_url)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from broker_core.testing import EmbeddedBroker


@pytest.fixture(scope="module")
def pulsar_broker() -> Iterator[EmbeddedBroker]:
    """A broker on free ports and in a temporary directory; stopped and removed after the module's last test."""
    from broker_core.testing import EmbeddedBroker

    with EmbeddedBroker() as broker:
        yield broker
