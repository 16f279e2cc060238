"""One broker and one proxy in front of it for the tests of a module."""

from collections.abc import Iterator

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.support.running_proxy import RunningProxy, client_of, proxy_config


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as found:
        yield found


@pytest.fixture(scope="module")
def proxy(broker: EmbeddedBroker) -> Iterator[RunningProxy]:
    with RunningProxy(proxy_config(broker)) as found:
        yield found


@pytest.fixture
def client(proxy: RunningProxy) -> Iterator[pulsar.Client]:
    found = client_of(proxy.service_url)
    yield found
    found.close()
