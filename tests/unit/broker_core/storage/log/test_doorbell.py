"""A ring ends one wait, whether it comes before or during it, with the doorbell of every platform."""

import os
import threading
from collections.abc import Iterator

import pytest

from broker_core.storage.log.doorbell import Doorbell, EventDoorbell, PipeDoorbell

PATIENCE_SECONDS = 10.0
KINDS = [PipeDoorbell, EventDoorbell] if hasattr(os, "eventfd") else [PipeDoorbell]


@pytest.fixture(params=KINDS)
def bell(request: pytest.FixtureRequest) -> Iterator[Doorbell]:
    made: Doorbell = request.param()
    yield made
    made.close()


def waiting_for(bell: Doorbell) -> threading.Thread:
    thread = threading.Thread(target=bell.wait, daemon=True)
    thread.start()
    return thread


def test_a_ring_before_the_wait_ends_it(bell: Doorbell) -> None:
    bell.ring()
    thread = waiting_for(bell)
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()


def test_a_ring_during_the_wait_ends_it(bell: Doorbell) -> None:
    thread = waiting_for(bell)
    bell.ring()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()


def test_one_wait_takes_all_earlier_rings(bell: Doorbell) -> None:
    bell.ring()
    bell.ring()
    bell.wait()
    thread = waiting_for(bell)
    thread.join(0.05)
    assert thread.is_alive()
    bell.ring()
    thread.join(PATIENCE_SECONDS)


def test_a_full_pipe_blocks_no_caller() -> None:
    bell = PipeDoorbell()
    for _ in range(100_000):
        bell.ring()
    bell.wait()
    bell.close()
