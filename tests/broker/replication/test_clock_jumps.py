"""The wall clock of one cluster jumps by hours, ahead and back, while both replicate."""

import pytest

from broker_core.config.replication import ReplicationConfig
from broker_core.testing import EmbeddedBroker
from tests.broker.replication.following import SECONDS, acknowledge, is_past_all, new_topic, subscribe
from tests.broker.replication.pair import Pair, publish
from tests.support.clocks import ShiftedClock
from tests.support.clusters import config_of, introduce
from tests.support.condition import wait_until

HOURS_MS = 5 * 3_600_000


@pytest.mark.parametrize("first_ms", [HOURS_MS, -HOURS_MS], ids=["ahead", "back"])
def test_messages_and_a_replicated_subscription_follow_across_jumps(first_ms: int) -> None:
    clock, settings = ShiftedClock(), ReplicationConfig(snapshot_ms=20)
    west = EmbeddedBroker(config=config_of("west", replication=settings), clock=clock)
    east = EmbeddedBroker(config=config_of("east", replication=settings))
    with west, east:
        introduce((west, east))
        pair = Pair(west, east)
        topic = new_topic(pair)
        consumer = subscribe(pair.of_west, topic)
        for rounds, clock.jump_ms in enumerate((0, first_ms, -first_ms, 0), 1):
            publish(pair.of_west, topic, [b"%d" % number for number in range(20)], batching_enabled=False)
            acknowledge(consumer, 20)
            wait_until(lambda rounds=rounds: is_past_all(east, topic, 20 * rounds), SECONDS)  # type: ignore[misc]  # read at once
        pair.close()
