"""The crowd of `make bench ARGS='--row proxy-crowd'`, small: each connection is spliced, and each message arrives."""

import asyncio

import pytest

from broker_core.testing import EmbeddedBroker
from tests.long.bench.proxy_clients import Crowd, CrowdFailed, Way
from tests.support.running_proxy import RunningProxy

PAIRS, MESSAGES = 10, 100


async def run(way: Way, proxy: RunningProxy) -> tuple[Crowd, int]:
    """Returns the crowd, and how many connections were spliced while it was there."""
    crowd = Crowd()
    try:
        await crowd.open(way, "crowd", PAIRS)
        await crowd.send(bytes(10_000), messages_per_second=10 * MESSAGES, seconds=0.1)
        await crowd.settle()
        return crowd, len(proxy.gateway.splices)
    finally:
        crowd.close()


def test_a_crowd_receives_what_it_publishes_through_the_proxy(broker: EmbeddedBroker, proxy: RunningProxy) -> None:
    crowd, spliced = asyncio.run(run(Way(proxy.service_url, broker.service_url), proxy))
    assert (crowd.received, len(crowd.take_waits())) == (MESSAGES, MESSAGES)
    assert spliced == 2 * PAIRS


def test_a_crowd_whose_broker_is_refused_does_not_begin(proxy: RunningProxy) -> None:
    with pytest.raises(CrowdFailed, match="the answer to a client was a command"):
        asyncio.run(run(Way(proxy.service_url, "pulsar://169.254.169.254:6650"), proxy))
