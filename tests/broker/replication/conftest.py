"""One pair of clusters for each module."""

from collections.abc import Iterator

import pytest

from broker_core.testing import EmbeddedBroker
from tests.broker.replication.pair import Pair
from tests.support.clusters import config_of, introduce


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with EmbeddedBroker(config=config_of("west")) as west, EmbeddedBroker(config=config_of("east")) as east:
        introduce((west, east))
        both = Pair(west, east)
        yield both
        both.close()
