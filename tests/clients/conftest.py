"""The official Python client against a broker: each test gets a client and a fresh topic name.

The broker is one in this process, or the one that PULSAR_SERVICE_URL names, as for the tests in other languages. Then
only those tests run that need no more than a client and a topic.
"""

import contextlib
import os
from collections.abc import Iterator

import pulsar
import pytest

from tests.clients.tool_chains import Broker

TIMEOUT_MS = 10_000


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if named_broker() is None:
        return
    chosen = [item for item in items if needs_only_a_client(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def needs_only_a_client(item: pytest.Item) -> bool:
    """Whether any broker will do: the test calls nothing in it, and its module sets nothing up."""
    assert isinstance(item, pytest.Function)
    names = item.fixturenames
    return "serving" in names and "pulsar_broker" not in (*names, *vars(item.module))


def named_broker() -> Broker | None:
    url = os.environ.get("PULSAR_SERVICE_URL")
    if not url:
        return None
    trusted, token = os.environ.get("PULSAR_TRUST_CERTS", ""), os.environ.get("PULSAR_TOKEN", "")
    return Broker(url, os.environ.get("PULSAR_ADMIN_URL", ""), trusted, token)


@pytest.fixture(scope="module")
def serving(request: pytest.FixtureRequest) -> Broker:
    """The broker that the clients use."""
    named = named_broker()
    if named is not None:
        return named
    own = request.getfixturevalue("pulsar_broker")
    return Broker(own.service_url, own.http_url)


@pytest.fixture
def client(serving: Broker) -> Iterator[pulsar.Client]:
    client = pulsar.Client(
        serving.service_url,
        authentication=pulsar.AuthenticationToken(serving.token) if serving.token else None,
        tls_trust_certs_file_path=serving.trust_file or None,
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
