"""The clock of the machine is set by hours, while a producer publishes to a deduplicated topic."""

from pathlib import Path

import pytest

from broker_core.testing import EmbeddedBroker
from tests.broker.publishing.deduplicated_topic import NAME, config, create, leave, on_loop, receipts, stored
from tests.support.clocks import ShiftedClock
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import send

HOURS_MS = 7 * 3_600_000
JUMPS = [(HOURS_MS, -HOURS_MS), (-HOURS_MS, HOURS_MS), (HOURS_MS, 2 * HOURS_MS), (-HOURS_MS, -2 * HOURS_MS)]


def send_again_and_on(client: RawClient, sequence_id: int) -> None:
    """The message before is a duplicate, and this one is new."""
    client.send(send(sequence_id - 1) + send(sequence_id))
    assert receipts(client, 2) == [(sequence_id - 1, False), (sequence_id, True)]


@pytest.mark.parametrize("jumps", JUMPS)
def test_no_duplicate_is_stored_and_no_message_is_lost(tmp_path: Path, jumps: tuple[int, int]) -> None:
    clock = ShiftedClock()
    settings = config(inactive_minutes=1, snapshot_entries=2)
    with EmbeddedBroker(tmp_path, config=settings, clock=clock) as broker, RawClient(broker.service_url) as client:
        create(client)
        client.send(send(0))
        receipts(client, 1)
        for sequence_id, jump in enumerate(jumps, 1):
            clock.jump_ms = jump
            on_loop(broker, loaded(broker, NAME).deduplication.forget_inactive)
            broker.call(loaded(broker, NAME).deduplication_switch.take_snapshot())
            send_again_and_on(client, sequence_id)
        assert stored(broker) == [("p", number) for number in range(len(jumps) + 1)]
        broker.call(broker.broker.topics.unload(NAME))
    clock.jump_ms = 0
    with EmbeddedBroker(tmp_path, config=settings, clock=clock) as broker, RawClient(broker.service_url) as client:
        assert create(client) == len(jumps)
        send_again_and_on(client, len(jumps) + 1)


@pytest.mark.parametrize("jump", [HOURS_MS, -HOURS_MS])
def test_a_producer_that_has_left_is_remembered_for_its_minutes_whatever_the_clock_says(jump: int) -> None:
    clock = ShiftedClock()
    with (
        EmbeddedBroker(config=config(inactive_minutes=10), clock=clock) as broker,
        RawClient(broker.service_url) as client,
    ):
        create(client)
        client.send(send(0))
        receipts(client, 1)
        leave(client)
        clock.jump_ms = jump
        on_loop(broker, loaded(broker, NAME).deduplication.forget_inactive)
        assert create(client) == 0
        leave(client)
        clock.ran_seconds = 601.0
        on_loop(broker, loaded(broker, NAME).deduplication.forget_inactive)
        assert create(client) == -1
